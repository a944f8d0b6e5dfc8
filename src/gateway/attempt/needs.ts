import type { Desk } from "../approval/desk.ts";
import type { ApprovalNeeds } from "../approval/needs.ts";
import type { OutboundNeeds } from "../outbound/needs.ts";
import type { PackBook } from "../outbound/outbound.ts";
import type { AnswerRoom } from "../ports.ts";
import type { DeploymentBook } from "../rollback/deployments.ts";
import type { TicketNeeds } from "../ticket/needs.ts";
import type { Tokens } from "../token/port.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface AttemptNeeds extends ApprovalNeeds, OutboundNeeds, TicketNeeds {
  readonly desk: Desk;
  readonly deployments: DeploymentBook;
  readonly tokens: Tokens;
  /** Where large answers find room. */
  readonly answers: AnswerRoom;
  /** Places for connections to hosts, one each. */
  readonly sshPlaces: AnswerRoom;
  packs(): PackBook;
}

import type { Allowances } from "../../conventions/budget/allowance.ts";
import type { Volume } from "../../conventions/budget/volume.ts";
import type { Desk } from "../approval/desk.ts";
import type { ApprovalNeeds } from "../approval/needs.ts";
import type { OperationBook } from "../operation/operations.ts";
import type { OutboundNeeds } from "../outbound/needs.ts";
import type { PackBook } from "../outbound/outbound.ts";
import type { Ledger } from "../record/ledger.ts";
import type { Envelope } from "../record/record.ts";
import type { HeldCallers } from "./held-callers.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface RunNeeds extends ApprovalNeeds, OutboundNeeds {
  /** How often each user may open a run. */
  readonly openings: Allowances;
  readonly callers: HeldCallers;
  /** How much may be written for each user before a person said yes. */
  readonly volume: Volume;
  readonly desk: Desk;
  readonly ledger: Ledger;
  readonly envelope: Envelope;
  readonly operations: OperationBook;
  packs(): PackBook;
}

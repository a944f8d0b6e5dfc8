import type { Grant } from "../../conventions/grant/grant.ts";
import type { Credentials, Ports } from "../ports.ts";
import type { Posture } from "../posture.ts";
import type { DayCounts } from "../record/day-counts.ts";
import type { Book } from "../run/book.ts";
import type { DaySpend } from "../run/day-spend.ts";

/** What this room needs of the gateway, and nothing else of it. */
export interface OutboundNeeds {
  readonly ports: Ports;
  readonly book: Book;
  readonly daySpend: DaySpend;
  /** Decisions that an operator signed ahead. */
  grants(): readonly Grant[];
  /** Whether this is a user that only agents run as: neither the gateway's own, nor root, nor an operator's. */
  isAgentUser(uid: number): boolean;
  readonly dayCounts: DayCounts;
  /** The wall time, but never earlier than it has been in this process: what ended does not begin again. */
  latestWallMs(): number;
  posture(): Posture;
  /** Null while locked. */
  credentials(): Credentials | null;
}

import type { Volume } from "../../conventions/budget/volume.ts";
import type { OperationBook } from "../operation/operations.ts";
import type { PackBook } from "../outbound/outbound.ts";
import type { Credentials, Ports } from "../ports.ts";
import type { Ledger } from "../record/ledger.ts";
import type { Envelope } from "../record/record.ts";

/** What this room needs of the gateway, and nothing else of it. */
export interface CallbackNeeds {
  readonly ports: Ports;
  /** How much may be written for each user before a person said yes. */
  readonly volume: Volume;
  readonly ledger: Ledger;
  readonly envelope: Envelope;
  readonly operations: OperationBook;
  packs(): PackBook;
  /** Null while locked. */
  credentials(): Credentials | null;
}

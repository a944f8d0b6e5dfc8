import type { Volume } from "../../conventions/budget/volume.ts";
import type { Ports } from "../ports.ts";
import type { Book } from "../run/book.ts";
import type { Ledger } from "./ledger.ts";
import type { Envelope } from "./record.ts";

/** What this room needs of the gateway, and nothing else of it. */
export interface RecordNeeds {
  readonly ports: Ports;
  /** How much may be written for each user before a person said yes. */
  readonly volume: Volume;
  readonly book: Book;
  readonly ledger: Ledger;
  readonly envelope: Envelope;
}

import type { Ports } from "../ports.ts";
import type { Ledger } from "../record/ledger.ts";
import type { Envelope } from "../record/record.ts";
import type { Tickets } from "./tickets.ts";

/** What this room needs of the gateway, and nothing else of it. */
export interface TicketNeeds {
  readonly ports: Ports;
  readonly ledger: Ledger;
  readonly envelope: Envelope;
  readonly tickets: Tickets;
}

import type { HttpLoan } from "../../vault/lent.ts";
import type { CustodySending, Sending } from "../attempt/sending.ts";
import type { Outbound } from "../outbound/outbound.ts";

/**
 * Short-lived tokens, got in exchange for credentials that no API ever sees. They live here and nowhere else, and end with
 * the lock. Of one credential one exchange is under way at a time; everybody else waits for it.
 */
export interface Tokens {
  /** Makes sure that a token is at hand for what is about to be sent; Denied where none can be had. */
  ready(sending: Sending | CustodySending): Promise<void>;
  /** Null for a credential that is lent as it is sealed. */
  lend(label: string, outbound: Outbound, origin: string): HttpLoan | null;
  /** A token was refused that was older than the call: it is forgotten, and true says that a newer one may help. */
  refused(label: string, outbound: Outbound, sinceBootMs: number): boolean;
  /** What a card says of the token that a call would go with; null where there is none. */
  say(outbound: Outbound): string | null;
  clear(): void;
}

import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { HttpLoan, ToSign } from "../../vault/lent.ts";
import type { CustodySending, Sending } from "../attempt/sending.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { HttpSend } from "../ports.ts";
import type { Heard } from "./heard.ts";

/**
 * Short-lived tokens, got in exchange for credentials that no API ever sees. They live here and nowhere else, and end with
 * the lock. Of one credential one exchange is under way at a time; everybody else waits for it.
 */
export interface Tokens {
  /** Makes sure that a token is at hand for what is about to be sent; Denied where none can be had. */
  /** Whether a send needs something got before it leaves; not where its credential is lent as it is sealed. */
  wants(sending: Sending | CustodySending): boolean;
  ready(sending: Sending | CustodySending): Promise<void>;
  /** Null for a credential that is lent as it is sealed. */
  lend(label: string, outbound: Outbound, request: HttpSend, toSign: ToSign | null): HttpLoan | null;
  /** Whether the provider refused a bound token for its nonce alone, and named the one it wants. */
  challenged(label: string, observation: TransportObservation): boolean;
  readonly heard: Heard;
  /** How far the clock of whoever is asked there is from ours, as it said itself, or as those said who gave the token. */
  skewMs(label: string, url: string): number;
  /** A token was refused that was older than the call: it is forgotten, and true says that a newer one may help. */
  refused(label: string, outbound: Outbound, sinceBootMs: number): boolean;
  /** What a card says of the token that a call would go with; null where there is none. */
  say(outbound: Outbound): string | null;
  /** The credential goes out: when that was last is for operators to know. */
  used(label: string): void;
  /** Once nothing is under way that was asked for: each has a timeout of its own. */
  settled(): Promise<void>;
  /** Wipes all of it, and has stores end what they gave for a while: that goes out behind the lock which this comes before. */
  clear(): void;
}

/** What an operator may do about the tokens of a credential; each send is an attempt like any other. */
export interface TokenDesk {
  /** Gets a token now, whatever failed before; it replaces the one at hand. */
  test(label: string, operator: string): Promise<TokenFacts>;
  /**
   * Asks the provider to forget the refresh token (RFC 7009), or a store to end what it gave for a while. False where there is
   * none, nowhere to say it, or where it was not done.
   */
  revoke(label: string, operator: string): Promise<boolean>;
  /** Has stores end what they gave for secrets that a vault replaces or removes, which is about to be followed. Nobody waits for it. */
  endReplaced(versionOf: (label: string) => SecretVersion | null): void;
  /** Every credential that was used since the unlock. */
  uses(): readonly { readonly label: string; readonly lastUsedAt: string | null; readonly token: TokenFacts | null }[];
}

export interface TokenFacts {
  readonly obtainedAt: string;
  readonly expiresAt: string;
  readonly scopes: readonly string[];
  readonly missing: readonly string[];
}

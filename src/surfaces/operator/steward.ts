import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import type { ProbeResult } from "../../conventions/ssh/probe.ts";
import type { SignedDecision } from "../../conventions/upgrade/decision/statement.ts";
import type { TakenOver } from "../../gateway/adopt.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { Attested, offerAnswer, Status } from "./answers.ts";
import type { HomeCustody } from "./custody.ts";
import type { Login } from "./logins.ts";

/** What an operator may do to the running gateway beyond its desk. The composition root implements it. */
export interface Steward {
  readonly gateway: Gateway;
  readonly clock: Clock;
  /** Its home, for operators who cannot read it. */
  readonly custody: HomeCustody;
  vaultId(): string;
  status(): Status;
  operatorConnected(login: Login): Promise<void>;
  /** Somebody tried to log in and could not. Recorded at most once a second. */
  operatorRefused(code: string, operator: string): Promise<void>;
  unlock(serviceKey: Secret, login: Login): Promise<void>;
  /** What proves that this process was unlocked before; null where it was not. */
  prove(nonce: string): string | null;
  /** Recorded at most once a second: whoever can reach the socket could say it. */
  passphraseFailed(operator: string, failedAttempts: number): Promise<void>;
  lock(reason: string, login: Login): Promise<void>;
  /** After a stop that has passed, once the log has verified itself. Denied `not_stopped` where there is nothing to resume. */
  resume(login: Login): Promise<void>;
  /** Reads the signed files again now; the gateway also looks at them by itself. */
  reload(): Promise<void>;
  /** Follows what the hub has of them now, as far as it answers soon. */
  followHub(): Promise<void>;
  /** Tries, with the real key, everything that a host must refuse. */
  checkHost(target: HostToCheck, login: Login): Promise<readonly ProbeResult[]>;
  /** Decisions about an upgrade, each with the signature of whoever is logged in. */
  recordDecisions(decisions: readonly SignedDecision[], login: Login): Promise<void>;
  /**
   * Stops lending at once; only an operator's signature restores it. Returns the labels that the vault has. Where the gateway does it
   * by itself nobody is named, and it is `of` this very secret.
   */
  suspendCredentials(
    labels: readonly string[],
    reason: string,
    login: Login | null,
    of?: SecretVersion | null,
  ): Promise<readonly string[]>;
  /** The public halves of this host's own keys, drawn when they are first asked for. */
  hostKeys(): Promise<{ readonly identity_key: string; readonly lending_key: string }>;
  /** Takes over what a silent gateway of the hub had under way. Says how many operations that are. */
  adoptOperations(gateway: string, login: Login): Promise<TakenOver>;
  /** The public halves of what this gateway asks with on a hub while it is locked. Drawn into a private file when first asked for. */
  waitingKey(): Promise<{ readonly signing_key: string; readonly reading_key: string }>;
  offerAttestation(): Promise<FromSchema<typeof offerAnswer>>;
  attest(statement: Buffer): Promise<Attested>;
  /** Records a cut that whoever is logged in signed; refuses any other. */
  noteArchived(cut: string, login: Login): Promise<void>;
}

export interface HostToCheck {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** The public line, type and base64. */
  readonly hostKey: string;
  readonly credential: string;
}

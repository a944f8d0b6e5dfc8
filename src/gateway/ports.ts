import type { FileSink } from "../../packages/request/src/multipart/part.ts";
import type { NewEvent } from "../audit/event.ts";
import type { IntentReceipt } from "../audit/receipt.ts";
import type { HttpSend } from "../conventions/action/send.ts";
import type { SpooledBody } from "../conventions/action/spooled.ts";
import type { Countable } from "../conventions/budget/fleet-limit.ts";
import type { TransportObservation } from "../conventions/outcome/observation.ts";
import type { OutboundSsh } from "../conventions/ssh/outbound.ts";
import type { Clock, Random, Sleep } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Secret } from "../kernel/secret.ts";
import type { SecretVersion } from "../vault/entry.ts";
import type { HmacLoan, HmacNotation, HttpLoan, LentCredential, SshSigner, ToSign } from "../vault/lent.ts";
import type { LocalSource, SecretSource } from "../vault/source/source.ts";
import type { TokenExchange } from "../vault/token/exchange.ts";
import type { ExchangeAsk } from "../vault/token/lend-exchange.ts";
import type { StepPort } from "./steps.ts";

export type { CallerPlatform, LiveCaller } from "../conventions/caller/port.ts";
export type { HttpSend, IntentReceipt, LentCredential };

export interface SendLimits {
  /** The smaller of the action's own cap and the run's time left. */
  readonly timeoutMs: number;
  readonly responseBytes: number;
  /** Absent where nobody calls the send off. */
  readonly signal?: AbortSignal;
  /**
   * Asked once more right before the first byte leaves, where a connection was waited for: throws where whoever asked for the send
   * may not any more. What was not sent then never is.
   */
  readonly still?: () => void;
  /** Takes the answer as it comes, where its status says that it is one: 2xx other than 202, 204 and 205. */
  readonly sink?: AnswerSink | undefined;
  /** Where a large answer finds room, and for whom; absent where nothing large is asked for. */
  readonly room?: AnswerRoom;
  readonly holder?: AnswerHolder | undefined;
  /** A host says that it has started, before it says how that ended. */
  readonly started?: () => void;
}

/** Memory for large answers under way, or places that count one each: one for each holder, in turn, and until it leaves. */
export interface AnswerRoom {
  /** True where the holder has a place as large as that; otherwise it has none, and `ready` is called once it has. */
  take(holder: AnswerHolder, bytes: number, ready: () => void): boolean;
  /** The answer turned out to be smaller. */
  fit(holder: AnswerHolder, bytes: number): void;
  /** Gives the place to another holder; false where there is none. */
  pass(from: AnswerHolder, to: AnswerHolder): boolean;
  /** Whether it holds a place, waits for one, or neither. */
  leave(holder: AnswerHolder): void;
  status(): { readonly heldBytes: number; readonly waiting: number };
}

export interface AnswerHolder {
  readonly callerKey: string;
}

/** Whoever gets an answer while it comes. What is handed over here has been screened for the credential. */
export interface AnswerSink {
  begin(status: number, headers: Readonly<Record<string, string>>): void;
  /** Null where more may follow at once; otherwise it may once this resolves. */
  write(bytes: Buffer): Promise<void> | null;
}

/** One operation on one host. Only a signer that the vault bound to the pinned host key takes part. */
export interface SshTransport {
  send(
    receipt: IntentReceipt,
    request: OutboundSsh,
    signer: SshSigner,
    limits: SendLimits,
  ): Promise<TransportObservation>;
}

export interface HttpTransport {
  send(
    receipt: IntentReceipt,
    request: HttpSend,
    credential: LentCredential | null,
    limits: SendLimits,
  ): Promise<TransportObservation>;
}

/** The log as the gateway sees it: it can append and say where it stands. It cannot read. */
export interface AuditSink {
  /** Resolves when the events are durable on disk. Any failure stops the gateway from sending. */
  append(events: readonly NewEvent[]): Promise<IntentReceipt>;
  /** Known at once, so that whoever would wait for room has its place in line before anything else is taken. */
  hasRoom(): boolean;
  head(): { readonly frame: number; readonly link: string };
}

export interface FoundCredential {
  readonly eachUse: boolean;
  readonly disabled: boolean;
  /** The gateways that lend it where this one does not. */
  readonly elsewhere?: readonly string[];
}

/** The service compartment of the vault, open. It lends; it never shows. */
export interface Credentials {
  find(label: string): FoundCredential | null;
  /** Denied `credential_not_bound` anywhere but at the origins the credential was sealed for. */
  lendHttp(label: string, origin: string, toSign: ToSign | null): HttpLoan;
  /** How a token is got for it, and for which version of its secret; null where the secret itself is lent. */
  exchangeOf(label: string): { readonly version: SecretVersion; readonly exchange: TokenExchange } | null;
  /** Denied `credential_not_bound` for any endpoint but those the credential was sealed with. */
  lendExchange(label: string, url: string, ask: ExchangeAsk, sourced: Secret | null): HttpLoan;
  /** Denied `credential_not_bound` like `lendHttp`. */
  lendToken(label: string, origin: string, token: Secret, toSign: ToSign | null): HttpLoan;
  /** Where its secret is got for a while, whether it is sent or exchanged; null where it is sealed. */
  sourceOf(label: string): { readonly version: SecretVersion; readonly source: SecretSource } | null;
  /** Denied `credential_invalid` for what could not be a secret of this kind. */
  checkSourced(label: string, secret: Secret): void;
  /** What opens that place. The caller wipes it. */
  lendOpener(label: string): Secret;
  /** Denied `credential_not_bound` for any host key but those the credential was sealed for. */
  lendSshSigner(label: string, hostKey: string): SshSigner;
  /** Denied `credential_not_bound` for any pack but those the secret was sealed for. */
  lendHmac(label: string, pack: string, notation: HmacNotation): HmacLoan;
}

/** A row of state that must survive us. The store seals and authenticates `body`. */
export interface StateRow {
  readonly table: "runs" | "attempts" | "notes" | "plans" | "operations" | "deployments";
  readonly id: string;
  readonly runId: string;
  readonly state: string;
  readonly body: JsonObject;
  /**
   * Asked in the transaction that would write it, with the row as it is stored. Where the answer is no, nothing of the
   * commit is written, and it is Denied `operation_taken_over`.
   */
  readonly onlyIf?: (stored: StateRow | null) => boolean;
  /** It is no picture of memory: `onlyIf`, or that one call alone may write it, says whether it is written. */
  readonly unordered?: true;
  /** Set once nobody needs it any more: the store forgets it. What happened stands in the log. */
  readonly over?: true;
}

export interface StateStore {
  /** Rows of one commit become durable together. `power` survives a power cut, `process` survives us. */
  commit(rows: readonly StateRow[], durability: "process" | "power"): Promise<void>;
  /** Forgets what has long been in one of these final states: rows made before the identifier, which sorts by time. */
  forget(table: StateRow["table"], states: readonly string[], beforeId: string): void;
  /** Rows in the given state. A row that does not authenticate comes back as `tampered`. */
  load(table: StateRow["table"], state: string): readonly (StateRow | { readonly tampered: string })[];
  /** One row by its id, as it was last committed; null where there is none. */
  find(table: StateRow["table"], id: string): StateRow | { readonly tampered: string } | null;
  /**
   * One row by its id, read and replaced in one transaction: of two processes that try at once, one sees what the other
   * wrote. `change` gives the new row, or null to leave it; the answer is the row as it now stands.
   */
  change(
    table: StateRow["table"],
    id: string,
    change: (row: StateRow) => StateRow | null,
  ): Promise<StateRow | { readonly tampered: string } | null>;
}

/** Whose turn it is to use up a refresh token that several gateways may lend. */
export interface RefreshTurns {
  /** Denied `credential_shared` where nobody has begun to share it: then nobody is asked about a call with it. */
  admit(label: string): void;
  /** `own` is what this gateway got while it was alone. Null where it is alone still. */
  take(label: string, ask: { readonly begins: boolean; readonly own: string | null }): Promise<RefreshTurn | null>;
}

/** Of this gateway alone, until it is ended. */
export interface RefreshTurn {
  readonly generation: number;
  /** The newest; null for the one that is sealed in the vault. */
  readonly refreshToken: string | null;
  /** A turn before was cut off, so that it may be spent. */
  readonly afterCut: boolean;
  /** Resolves when the others can have it. */
  end(refreshToken: string | null, state?: "free" | "ended"): Promise<void>;
}

/** Secrets that are kept on this machine, but not by us. */
export interface LocalSources {
  read(source: LocalSource): Promise<LocalSecret>;
}

export type LocalSecret =
  | { readonly kind: "secret"; readonly secret: Secret }
  /** Our own words: what a program prints is not for anybody to see. */
  | { readonly kind: "failed"; readonly why: string };

/** A send that limits of the fleet counted. */
export interface Counted {
  /** All of it, of a send that did not leave. Nobody waits for it. */
  giveBack(): void;
  /** What it cost beside what was counted; less is below zero. Nobody waits for it. */
  settle(cents: number): void;
}

/** What signed policy does not let happen without the hub. */
export interface HubGate {
  /** Denied `hub_unreachable` for what may not begin while the hub is away. */
  admit(call: { readonly sideEffect: boolean; readonly standing: boolean }): void;
  /** Denied `hub_unreachable` where the intent is not on the hub in time: nothing leaves then. */
  beforeSend(receipt: IntentReceipt, attemptId: string): Promise<void>;
  /** Takes what a send counts for from every limit of the fleet that it falls under; null where it falls under none. */
  count(send: Countable): Promise<Counted> | null;
  /** Whether an answer waits until what happened is on the hub. */
  holdsAnswers(): boolean;
  /** Resolves once what happened is on the hub; of a read that may go on without it, sooner. */
  beforeAnswer(sideEffect: boolean): Promise<void>;
}

/** Room for a body that is not held in memory. */
export interface SpoolPort {
  /** Denied where there are enough on their way, of this user or of all. Writing is denied where the disk is nearly full. */
  open(uid: number): SpoolFile;
}

export interface SpoolFile extends FileSink {
  /** Once all of it is written. */
  body(digest: string): SpooledBody;
  /** Lets it go for good. */
  close(): void;
}

export interface Ports {
  /** Absent where no tool in a box is served. */
  readonly spool?: SpoolPort;
  /** Absent where nothing waits for a hub. */
  readonly hub?: HubGate;
  /** Absent where no other gateway could use a credential. */
  readonly turns?: RefreshTurns;
  /** Absent where no credential has such a source. */
  readonly sources?: LocalSources;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  readonly ids: Ids;
  readonly audit: AuditSink;
  readonly http: HttpTransport;
  readonly ssh: SshTransport;
  /** Whether the disk under the log has only its reserve left. Absent where there is no disk. */
  readonly space?: { low(): boolean };
  /** How many calls are on their way to a provider, for the log to know whom a flush is worth waiting for. */
  readonly traffic?: { calls: number };
  /** Absent wherever nobody has to end the process between two steps. */
  readonly steps?: StepPort;
}

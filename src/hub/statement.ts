import type { KeyObject } from "node:crypto";
import { isSignedBy, signBytes } from "../audit/keys/raw.ts";
import { canonicalJson } from "../kernel/canonical-json.ts";
import { defaults } from "../kernel/defaults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";

/** An operator says which key speaks for a gateway on a hub, and which log is its own. */
export type EnrolmentStatement = {
  readonly format: "gw.hub-gateway/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly identity_key: string;
  readonly log_id: string;
  readonly vault_id: string;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly signed_at: string;
};

/** An operator says that a gateway left: from here on its silence is no news. It ends one enrolment, and none after it. */
export type LeaveStatement = {
  readonly format: "gw.hub-leave/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly identity_key: string;
  /** When the enrolment that it ends was signed. */
  readonly joined_at: string;
  readonly vault_id: string;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly signed_at: string;
};

/** A gateway says how far its log is on the hub. Numbers only rise, the tick by one with every word. */
export type HeadStatement = {
  readonly format: "gw.hub-head/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly log_id: string;
  readonly tick: number;
  /** Segment 0 is the cut that a log begins with whose older segments were moved away. */
  readonly segment: number;
  /** How far that segment is there. */
  readonly offset: number;
  /** Where its last whole frame ends, and what that frame hashes to. */
  readonly frame_end: number;
  readonly next_frame: number;
  readonly link: string;
  /** The bytes that came with this word: where they begin, and their digest. Null for a sign of life. */
  readonly part: { readonly offset: number; readonly digest: string } | null;
  /** The signed files that this gateway follows: who is shown less finds out by it. */
  readonly knows?: { readonly vault: number; readonly policy: number };
  readonly written_at: string;
};

/** A gateway says that this question waits for a person; what it asks is sealed beside it. */
export type CardStatement = {
  readonly format: "gw.hub-card/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly approval_id: string;
  readonly vault_id: string;
  readonly sealed_digest: string;
};

/** A gateway says what became of an operator's statement; `code` is null where it was done. */
export type AnswerStatement = {
  readonly format: "gw.hub-answer/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly id: string;
  readonly body_digest: string;
  readonly code: string | null;
  readonly message: string;
};

/** A gateway says what it has under way: how many words of this term there were, and the sum over its sealed rows. */
export type StateStatement = {
  readonly format: "gw.hub-state/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly vault_id: string;
  readonly term: number;
  readonly tick: number;
  readonly sum: string;
  readonly written_at: string;
};

/** A gateway says that it looks after what another had under way in a term, from this word of it on. */
export type AdoptionStatement = {
  readonly format: "gw.hub-adoption/v1";
  readonly hub_id: string;
  readonly vault_id: string;
  readonly gateway: string;
  readonly term: number;
  readonly tick: number;
  readonly by: string;
  /** What that gateway had itself taken over and not yet brought home: it goes along. */
  readonly along: readonly TermName[];
};

export type TermName = { readonly gateway: string; readonly term: number };

/** A locked gateway asks to be unlocked: sealed to a key that only this process has, and only until it was unlocked or locked again. */
export type WaitingStatement = {
  readonly format: "gw.hub-waiting/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly vault_id: string;
  readonly nonce: string;
  /** X25519, raw. */
  readonly sealing_key: string;
  /** The signed files that it would open. */
  readonly knows: { readonly vault: number; readonly policy: number };
  readonly log_id: string;
  /** The last frame of its log. */
  readonly frame: number;
  /** What the live log offers for an operator's signature. */
  readonly attestation: {
    readonly open_frame: number;
    readonly open_link: string;
    readonly head_frame: number;
    readonly head_link: string;
    readonly before_frame: number;
    readonly before_link: string;
    readonly unclean: boolean;
  };
  /** When it said so, by the database's clock. */
  readonly hub_ms: number;
};

/** An operator hands the service key to one waiting process and to no other. */
export type UnlockStatement = {
  readonly format: "gw.hub-unlock/v1";
  readonly hub_id: string;
  readonly gateway: string;
  readonly vault_id: string;
  readonly nonce: string;
  readonly sealed: string;
  /** The operator's word for the log of that process; null where what they know of it does not suffice. */
  readonly attestation: string | null;
  readonly knows: { readonly vault: number; readonly policy: number };
  readonly operator: string;
  readonly operator_key_id: string;
  readonly signed_at: string;
};

/** A gateway says whose turn it is to use up the refresh token of a credential; the newest one is sealed beside it. */
export type TurnStatement = {
  readonly format: "gw.hub-turn/v1";
  readonly hub_id: string;
  readonly vault_id: string;
  /** Which credential, in a name that tells the database nothing. */
  readonly place: string;
  /** Rises by one with every word about this credential. */
  readonly generation: number;
  /** Who says it, and whose turn it is while it is taken. */
  readonly gateway: string;
  readonly state: "free" | "taken" | "ended";
  /** A turn before was cut off, and nobody knows whether the refresh token that stands here was used in it. */
  readonly cut: boolean;
  /** Which secret of the vault it began with. */
  readonly added_at: string;
  readonly version: number;
  readonly sealed_digest: string;
};

export type HubStatement =
  | EnrolmentStatement
  | LeaveStatement
  | HeadStatement
  | CardStatement
  | AnswerStatement
  | StateStatement
  | AdoptionStatement
  | WaitingStatement
  | UnlockStatement
  | TurnStatement;

export interface SignedText {
  readonly text: string;
  readonly signature: Buffer;
}

/** As a row has it. */
export type GivenText = { readonly [Name in keyof SignedText]: SignedText[Name] | null };

export function signHub(statement: HubStatement, sign: (bytes: Buffer) => Buffer): SignedText {
  const text = canonicalJson(statement);
  return { text, signature: sign(bytesOf(text)) };
}

export function signHubWith(statement: HubStatement, key: KeyObject): SignedText {
  return signHub(statement, (bytes) => signBytes(key, bytes));
}

/** Undefined for what is no such statement, or not signed by this key. */
export function readHubStatement<Statement extends HubStatement>(
  { text, signature }: GivenText,
  format: Statement["format"],
  rawPublic: Buffer,
): Statement | undefined {
  // Whoever writes a row also chooses to leave a column empty.
  if (text === null || signature === null || text.length > defaults.hubStatementBytes) return undefined;
  if (!isSignedBy(rawPublic, bytesOf(text), signature)) return undefined;
  const statement = parse(text);
  return statement?.["format"] === format ? (statement as unknown as Statement) : undefined;
}

/** What an enrolment says before it is known whose signature it should bear: anybody may have written it, with whatever in it. */
export function peekEnrolment(text: string): { readonly [Name in keyof EnrolmentStatement]?: unknown } {
  return text.length > defaults.hubStatementBytes ? {} : (parse(text) ?? {});
}

function parse(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) && canonicalJson(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function bytesOf(text: string): Buffer {
  return Buffer.from(`gw hub v1\0${text}`, "utf8");
}

import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import type { RunBudget } from "../../conventions/budget/budget.ts";
import type { SessionEnding, SessionState } from "../../conventions/caller/session.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import type { Scope } from "../../conventions/scope/scope.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { ApprovalId, CallId, RunId, SessionId } from "../../kernel/ids.ts";
import type { LiveCaller } from "../ports.ts";

/** One budgeted piece of work. Sessions tie callers to it; it belongs to whoever opened it. */
export interface Run {
  readonly id: RunId;
  readonly ownerKey: string;
  readonly purpose: string;
  /** What the surface that opened it wants a person to know about its caller. Our words, never the agent's. */
  readonly notes: readonly string[];
  /** Its owner says that it holds a box, whose tools speak through it. */
  readonly contained: boolean;
  /** Its owner says that it is the proxy of what it starts. */
  readonly proxied: boolean;
  /** What a wrapper says that it will start; null where nobody said anything. */
  readonly command: readonly string[] | null;
  /** Whether its first call is what a person is asked about first, together with the session. */
  readonly opensWithCall: boolean;
  /** Whether a call of its owner that the session does not have yet is asked about, and then in it; it is refused elsewhere. */
  readonly asksAsItGoes: boolean;
  /** Actions that a person is being asked to add, with the call on the card and the answer. */
  readonly widening: Map<string, { readonly call: Call; readonly answer: Promise<unknown> }>;
  /** What was asked for. What was granted stands in the session. */
  readonly asked: Scope;
  readonly createdAt: string;
  readonly sessions: Map<string, Session>;
  /** Set where whatever the owner starts may act as well. */
  readonly kin: Kin | null;
  readonly tally: Tally;
  /** Aborts whatever the run still waits for. */
  readonly over: AbortController;
  state: "pending" | "open" | "ended";
  endReason: string | null;
  /** What a person's no, or nobody's answer, said to whoever waited: who asks after it is told the same. */
  refusal: Pick<Denied, "code" | "message"> | null;
  budget: RunBudget;
  /** The question about the session that is still open, if one is. */
  admission: Admission | null;
  /** The ids of what has ended here without the log having it yet, itself and its sessions: its row has them open until then. */
  readonly untold: Set<string>;
  /** Kept once the log has how its sessions began and ended so far, and how it ended itself. */
  told: Promise<void>;
}

/** What the owner of a run started, where a person approved that as well. */
export interface Kin {
  /** What a person said of images that the owner's own card did not show, by digest. */
  readonly images: Map<string, Promise<Footing>>;
  /** Sessions on their way, by caller: a process that calls twice at once joins once. */
  readonly joining: Map<string, Promise<Session>>;
}

/** What a session rests on. */
export type Footing = Pick<Session, "scope" | "approvalId" | "approvedBy" | "approvedAt" | "grant">;

/** The grant in signed policy that a session stands on: this very version of it. */
export interface StandingOn {
  readonly name: string;
  readonly digest: string;
}

/** What became of the calls of a run so far. */
export interface Tally {
  calls: number;
  success: number;
  error: number;
  denied: number;
  unknown: number;
  /** Calls whose outcome was unknown when they were answered, the first of them. */
  readonly unknownCalls: CallId[];
}

export interface Admission {
  /** Null where a grant decided it ahead, and nobody is asked. */
  readonly approvalId: ApprovalId | null;
  /** Whether the run begins with it, or another process asks to join. */
  readonly mode: "session" | "join";
  readonly callerKey: string;
  readonly session: Promise<Session>;
  /** A call's own question already stands on the same card. */
  readonly merged?: true;
  /** The answer to that card, where the session was asked for by its first call. */
  readonly decision?: Promise<Verified<DecisionStatement>>;
}

/** The approval that ties one run to one live caller. */
export interface Session {
  readonly id: SessionId;
  readonly runId: RunId;
  readonly caller: LiveCaller;
  /** Wider than what was granted at first only by another card. */
  scope: Scope;
  readonly approvalId: ApprovalId | null;
  readonly approvedBy: string;
  readonly approvedAt: string;
  /** Null where a person approved the session itself. */
  readonly grant: StandingOn | null;
  /** Where the table of sessions (`conventions/caller/session.ts`) has it; the book moves it, by that table. */
  state: SessionState;
  /** Kept once the log has it. Nothing is sent under a session before that. */
  begun: Promise<void>;
  endedAt: string | null;
  endReason: SessionEnding | null;
}

/** One call of an agent, from the moment it was asked for. */
export interface Call {
  readonly id: CallId;
  readonly runId: RunId;
  readonly callerKey: string;
  readonly action: string;
  readonly createdAt: string;
  /** Settles once and is held for whoever asks later, as long as there is room for it. */
  done: Promise<CallResult>;
  /** The result as JSON once there is one, where it is small. */
  readonly written: string | null;
  /** How many wait for it now. */
  asking: number;
  /** About what its result takes, once there is one. */
  readonly resultBytes: number;
  /** False once whoever asked took the call back. It counts until `sending` and changes nothing after that. */
  wanted: boolean;
  /** Set while the call waits for a person: ends that wait at once. */
  onTakenBack: (() => void) | null;
  state: "pending" | "sending" | "done" | "denied";
  approvalId: ApprovalId | null;
  /** Between two of its sends. */
  wait: Wait | null;
}

/** What the next send of a call waits for: a person's answer, or a time, after what the last one came to. */
export type Wait = { readonly approvalId: ApprovalId } | { readonly until: string; readonly after: string };

export function newTally(): Tally {
  return { calls: 0, success: 0, error: 0, denied: 0, unknown: 0, unknownCalls: [] };
}

/** Whose plans these are: the processes of one wrapped run act as one. Only for callers that belong to the run. */
export function partyOf(run: Run, callerKey: string): string {
  return run.kin === null ? callerKey : run.ownerKey;
}

/** The session that is still being asked for, for whoever wants to wait for it. */
export function pendingSession(run: Run, callerKey: string): Promise<Session> | undefined {
  return run.kin?.joining.get(callerKey) ?? run.admission?.session;
}

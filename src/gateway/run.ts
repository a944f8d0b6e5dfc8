import type { RunBudget } from "../conventions/budget/budget.ts";
import type { SessionEnding } from "../conventions/caller/session.ts";
import type { CallResult } from "../conventions/outcome/result.ts";
import type { Scope } from "../conventions/scope/scope.ts";
import type { ApprovalId, CallId, RunId, SessionId } from "../kernel/ids.ts";
import type { LiveCaller } from "./ports.ts";

/** One budgeted piece of work. Sessions tie callers to it; it belongs to whoever opened it. */
export interface Run {
  readonly id: RunId;
  readonly ownerKey: string;
  readonly purpose: string;
  /** What the surface that opened it wants a person to know about its caller. Our words, never the agent's. */
  readonly notes: readonly string[];
  /** What was asked for. What was granted stands in the session. */
  readonly asked: Scope;
  readonly createdAt: string;
  readonly sessions: Map<string, Session>;
  /** Aborts whatever the run still waits for. */
  readonly over: AbortController;
  state: "pending" | "open" | "ended";
  endReason: string | null;
  budget: RunBudget;
  /** The question about the session that is still open, if one is. */
  admission: Admission | null;
}

export interface Admission {
  readonly approvalId: ApprovalId;
  readonly callerKey: string;
  readonly session: Promise<Session>;
  /** A call's own question already stands on the same card. */
  readonly merged?: true;
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
  endedAt: string | null;
  endReason: SessionEnding | null;
}

/** One call of an agent, from the moment it was asked for. `done` settles once and is kept for whoever asks later. */
export interface Call {
  readonly id: CallId;
  readonly runId: RunId;
  readonly callerKey: string;
  readonly action: string;
  readonly createdAt: string;
  readonly done: Promise<CallResult>;
  /** False once whoever asked took the call back. It counts until `sending` and changes nothing after that. */
  wanted: boolean;
  /** Set while the call waits for a person: ends that wait at once. */
  onTakenBack: (() => void) | null;
  state: "pending" | "sending" | "done" | "denied";
  approvalId: ApprovalId | null;
}

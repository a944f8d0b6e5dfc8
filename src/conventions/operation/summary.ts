import type { OperationRecord } from "./record.ts";
import { isSettled, type OperationState } from "./state.ts";
import type { TransitionRecord } from "./transition.ts";

/**
 * What a person watches of an operation. Times are what is left of them: the gateway counts on a clock that nobody sets,
 * and whoever draws them counts on from there. A negative one has passed.
 */
export type OperationSummary = {
  readonly operation_id: string;
  readonly kind: "job" | "write";
  readonly action: string;
  readonly state: OperationState;
  readonly run_id: string;
  /** The process that asked for it, as its session knows it, or that session's name once it is forgotten. */
  readonly started_by: string;
  readonly authorized_by: string;
  readonly created_at: string;
  readonly remote_job_id: string | null;
  readonly remote_state: string | null;
  readonly progress: { readonly completed: number; readonly total: number } | null;
  readonly next_poll_in_ms: number | null;
  readonly result_in_ms: number;
  readonly cancel: { readonly actor: string; readonly reason: string } | null;
  readonly problem: { readonly code: string; readonly detail: string } | null;
  /** Why a read that a person asks for would be refused; null where it would be made. */
  readonly unreadable: { readonly code: string; readonly detail: string } | null;
  /** The card that asks a person for its next read, while one waits. */
  readonly approval_id: string | null;
};

/** One operation whole: the record of the specification, and what a person asks beside it. */
export type OperationDetail = OperationRecord &
  OperationSummary & {
    readonly call_id: string;
    readonly session_id: string;
    readonly settled: boolean;
    /** Reads that said "still running", and reads that said nothing. */
    readonly checks: number;
    readonly faults: number;
    readonly observed_by: string;
    readonly result_digest: string | null;
    /** Each request to go on after a failure. */
    readonly resumes: readonly ResumeSummary[];
    readonly history: readonly TransitionRecord[];
  };

export type ResumeSummary = {
  readonly actor: string;
  readonly reason: string;
  readonly at: string;
  readonly outcome: "pending" | "accepted" | "refused" | "unknown";
};

/** The most urgent operations, how many there are beyond them, and what ended last. Bounded whatever there is. */
export type OperationBoard = {
  readonly open: number;
  readonly needs_person: number;
  readonly shown: readonly OperationSummary[];
  readonly ended: readonly OperationSummary[];
};

/** What its urgency is told by. */
export type Standing = Pick<
  OperationSummary,
  "operation_id" | "state" | "problem" | "next_poll_in_ms" | "result_in_ms" | "approval_id"
>;

/** Nobody goes on by itself with this one: automation stopped, asks first, or never had a way to find out. */
export function needsPerson(operation: Omit<Standing, "result_in_ms" | "operation_id">): boolean {
  const { state, problem, next_poll_in_ms, approval_id } = operation;
  if (isSettled(state)) return false;
  return problem !== null || approval_id !== null || (state === "create_unknown" && next_poll_in_ms === null);
}

/** Smaller is more urgent: a person, then what nobody knows, then what is late, then the rest. */
export function urgencyOf(operation: Omit<Standing, "operation_id">): number {
  if (needsPerson(operation)) return 0;
  switch (operation.state) {
    case "create_unknown":
    case "reconciliation":
      return 1;
    case "result_timed_out":
      return 2;
    case "cancel_requested":
    case "cancelling":
      return 3;
    case "create_pending":
    case "accepted":
    case "observing":
    case "result_collecting":
      return operation.result_in_ms <= 0 ? 2 : 4;
    case "succeeded":
    case "failed":
    case "cancelled":
      return 5;
  }
}

/** The most urgent first; among equals whose result is due first, then the older. */
export function compareUrgency(one: Standing, other: Standing): number {
  return (
    urgencyOf(one) - urgencyOf(other) ||
    one.result_in_ms - other.result_in_ms ||
    (one.operation_id < other.operation_id ? -1 : 1)
  );
}

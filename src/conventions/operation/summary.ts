import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import {
  anyValue,
  count,
  flag,
  list,
  object,
  orNull,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from "../../../packages/request/src/shape.ts";
import { budgetSchema } from "../budget/record.ts";
import { isSettled, operationCauses, operationStates } from "./state.ts";

const state = { enum: operationStates } as const;
const problem = orNull(object({ code: text, detail: text }));
/** `pending` until its answer is in; `unknown` may have gone through, so that the work is observed again. */
const resume = object({
  call_id: text,
  attempt_id: text,
  actor: text,
  reason: text,
  at: text,
  outcome: { enum: ["pending", "accepted", "refused", "unknown"] },
});

/** What the record of the specification says of it, and whoever watches it is told. */
const known = {
  operation_id: text,
  kind: { enum: ["job", "write"] },
  action: text,
  state,
  run_id: text,
  created_at: text,
  remote_job_id: textOrNull,
  remote_state: textOrNull,
  progress: orNull(object({ completed: { type: "number" }, total: { type: "number" } })),
  cancel: orNull(object({ actor: text, reason: text, expected_effect: text, at: text })),
  problem,
  /** The card that asks a person for its next read, while one waits. */
  approval_id: textOrNull,
} as const;

/**
 * What only a person is told of it. Times are what is left of them: the gateway counts on a clock that nobody sets,
 * and whoever draws them counts on from there. A negative one has passed.
 */
const watched = {
  /** The process that asked for it, as its session knows it, or that session's name once it is forgotten. */
  started_by: text,
  authorized_by: text,
  next_poll_in_ms: wholeOrNull,
  result_in_ms: whole,
  /** Why a read that a person asks for would be refused; null where it would be made. */
  unreadable: problem,
} as const;

export const summarySchema = object({ ...known, ...watched });

/** The operation record of the specification, and beside it what a person or an agent needs to go on. */
const record = {
  ...known,
  request_fingerprint: text,
  idempotency_token: text,
  create_deadline: text,
  result_deadline: text,
  lease: orNull(object({ owner: text, expires_at: text })),
  next_poll_at: textOrNull,
  call_id: text,
  settled: flag,
  /** Reads that said "still running". */
  checks: count,
  budget: budgetSchema,
  observed_by: text,
  /** Each request to go on after a failure. */
  resumes: list(resume),
  result_digest: textOrNull,
  result: anyValue,
  history: list(
    object({
      at: text,
      actor: text,
      from: state,
      to: state,
      cause: { enum: operationCauses },
      remote_job_id: textOrNull,
    }),
  ),
} as const;

export const operationSchema = object(record);

/** One operation whole, with the session that asked for it and the reads that said nothing. */
export const detailSchema = object({ ...record, ...watched, session_id: text, faults: count });

/** The most urgent operations, how many there are beyond them, and what ended last. Bounded whatever there is. */
export const boardSchema = object({
  open: count,
  needs_person: count,
  shown: list(summarySchema),
  ended: list(summarySchema),
});

export type OperationSummary = FromSchema<typeof summarySchema>;
export type OperationView = FromSchema<typeof operationSchema>;
export type OperationDetail = FromSchema<typeof detailSchema>;
export type ResumeRecord = FromSchema<typeof resume>;
export type OperationBoard = FromSchema<typeof boardSchema>;

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

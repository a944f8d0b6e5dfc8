import type { Code } from "../../kernel/codes.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { Lease } from "./record.ts";
import { isSettled, type OperationState, type OperationTrigger } from "./state.ts";
import type { ResumeRecord } from "./summary.ts";
import { stepOperation, type TransitionRecord } from "./transition.ts";

/** A time that decides: wall time for records and people, boot time for decisions within this boot. */
export interface Moment {
  readonly at: string;
  readonly bootMs: number;
}

/** All of an operation that changes. `evolve` alone says how. */
export interface OperationStanding {
  readonly state: OperationState;
  readonly remoteJobId: string | null;
  readonly remoteState: string | null;
  readonly progress: { readonly completed: number; readonly total: number } | null;
  /** The attempt that was left without an answer; reconciliations refer to it. */
  readonly attemptId: string | null;
  /** Until when the request, as it was last sent, may still arrive. */
  readonly createDeadline: Moment;
  /** How often it was sent again under its token. */
  readonly repeats: number;
  /** What the run still reserves for the outcome that nobody knows. */
  readonly held: number;
  /** The day that counts for; empty where nobody knows it, and no day has it again. */
  readonly heldOn: string;
  /** Anew when failed work is resumed. */
  readonly resultDeadline: Moment;
  readonly lease: Lease | null;
  readonly nextPoll: Moment | null;
  /** Reads that said "still running", and reads that said nothing: they have separate allowances. */
  readonly checks: number;
  readonly faults: number;
  /** Reads that callbacks asked for have an allowance of their own; whether the one under way is such a read. */
  readonly hinted: { readonly allowed: number; readonly reads: number; readonly underWay: boolean };
  /** Its session is over: the gateway itself reads on, within the custodian's allowance. */
  readonly custodian: boolean;
  readonly cancel: CancelWanted | null;
  /** Each request to go on after a failure: an action of its own, linked here. */
  readonly resumes: readonly ResumeRecord[];
  /** One of them is on its way, in this process. */
  readonly resuming: boolean;
  /** The question of the gateway's own that waits for a person, in this process. */
  readonly asking: ApprovalId | null;
  /** Why automation stopped, and what a person should know of it. */
  readonly problem: { readonly code: Code; readonly detail: string } | null;
  readonly resultDigest: string | null;
  /** Kept in memory alone, and only while it is small. */
  readonly result: JsonValue;
  readonly history: readonly TransitionRecord[];
}

export type CancelWanted = {
  readonly actor: string;
  readonly reason: string;
  readonly expectedEffect: string;
  readonly at: string;
};

/** Whatever an operation can learn. Only `trigger` moves its state, by the table. */
export type OperationEvidence =
  | { readonly kind: "trigger"; readonly trigger: OperationTrigger; readonly at: string; readonly actor: string }
  | { readonly kind: "left_unanswered"; readonly attemptId: string; readonly said?: string }
  /** It is about to be sent: a creation, each of its tries, and each repeat under its token. */
  | { readonly kind: "on_its_way"; readonly until: Moment }
  | { readonly kind: "sent_again" }
  | { readonly kind: "reserve"; readonly cents: number; readonly day: string }
  /** A read told of the job. `beside` the schedule it uses up none of its allowance. */
  | {
      readonly kind: "report_read";
      readonly remoteState: string;
      readonly progress: OperationStanding["progress"];
      readonly beside: boolean;
    }
  | { readonly kind: "still_running" }
  /** A read, or a repeat, that told nothing. */
  | { readonly kind: "nothing_learned" }
  /** A creation that nobody was sure of has a job: its reads are counted from here. */
  | { readonly kind: "job_found" }
  | { readonly kind: "result_kept"; readonly digest: string; readonly result: JsonValue }
  | { readonly kind: "look_again"; readonly at: Moment | null }
  | { readonly kind: "leased"; readonly lease: Lease }
  /** What another process wrote is the truth; the result is in this one's memory alone. */
  | { readonly kind: "stored_by_another"; readonly theirs: OperationStanding; readonly lease: Lease | null }
  | { readonly kind: "session_over" }
  | { readonly kind: "person_asked"; readonly approvalId: ApprovalId }
  | { readonly kind: "question_over" }
  | { readonly kind: "automation_stopped"; readonly code: Code; readonly detail: string }
  /** A person took it up: what stopped automation stands no longer. */
  | { readonly kind: "taken_up"; readonly lookAgain: Moment | null }
  | { readonly kind: "cancel_wanted"; readonly cancel: CancelWanted }
  | { readonly kind: "resume_began" }
  | { readonly kind: "resume_over" }
  | { readonly kind: "resume_noted"; readonly record: ResumeRecord }
  /** Failed work goes on, with a deadline and allowances of its own. */
  | { readonly kind: "reopened"; readonly resultDeadline: Moment; readonly firstRead: Moment }
  | { readonly kind: "hint_read_began"; readonly underWay: boolean }
  | { readonly kind: "hint_read_over" };

/** What is left to do about it: the log is told of every step of the table. */
export type OperationEffect = { readonly kind: "tell"; readonly entry: TransitionRecord };

export interface Evolved<Operation> {
  readonly operation: Operation;
  readonly effects: readonly OperationEffect[];
}

/** What an operation becomes by what was learned. Nothing is done here; the gateway does what `effects` say. */
export function evolve<Operation extends OperationStanding>(
  operation: Operation,
  evidence: OperationEvidence,
): Evolved<Operation> {
  if (evidence.kind !== "trigger")
    return { operation: { ...operation, ...changeBy(operation, evidence) }, effects: [] };
  const step = stepOperation(operation, evidence.trigger, evidence.at, evidence.actor);
  switch (step.kind) {
    case "refused":
      return { operation, effects: [] };
    case "contract_violation": {
      const detail = `the provider named the job ${step.named} where ${step.known} is on record`;
      return evolve(operation, { kind: "automation_stopped", code: "operation_needs_person", detail });
    }
    case "moved": {
      const { to: state, remoteJobId, entry } = step;
      const history = [...operation.history, entry];
      const nextPoll = isSettled(state) ? null : operation.nextPoll;
      return { operation: { ...operation, state, remoteJobId, history, nextPoll }, effects: [{ kind: "tell", entry }] };
    }
  }
}

/** Never a state: that is the table's. */
function changeBy(
  now: OperationStanding,
  evidence: Exclude<OperationEvidence, { readonly kind: "trigger" }>,
): Partial<OperationStanding> {
  switch (evidence.kind) {
    case "left_unanswered":
      return { attemptId: evidence.attemptId, remoteState: evidence.said ?? now.remoteState };
    case "on_its_way":
      return { createDeadline: evidence.until };
    case "sent_again":
      return { repeats: now.repeats + 1 };
    case "reserve":
      return { held: evidence.cents, heldOn: evidence.day };
    case "report_read": {
      const { remoteState, progress, beside } = evidence;
      return { remoteState, progress, checks: now.checks + (beside ? 0 : 1) };
    }
    case "still_running":
      return { checks: now.checks + 1 };
    case "nothing_learned":
      return { faults: now.faults + 1 };
    case "job_found":
      return { checks: 0, faults: 0 };
    case "result_kept":
      return { resultDigest: evidence.digest, result: evidence.result };
    case "look_again":
      return { nextPoll: evidence.at };
    case "leased":
      return { lease: evidence.lease };
    case "stored_by_another":
      return { ...evidence.theirs, lease: evidence.lease, result: now.result };
    case "session_over":
      return { custodian: true };
    case "person_asked":
      return { asking: evidence.approvalId };
    case "question_over":
      return { asking: null };
    case "automation_stopped":
      return { problem: { code: evidence.code, detail: evidence.detail }, nextPoll: null };
    case "taken_up":
      return { problem: null, nextPoll: evidence.lookAgain };
    case "cancel_wanted":
      // Who wanted it first is on record, however often it is asked.
      return { cancel: now.cancel ?? evidence.cancel };
    case "resume_began":
      return { resuming: true };
    case "resume_over":
      return { resuming: false };
    case "resume_noted": {
      const others = now.resumes.filter(({ attempt_id }) => attempt_id !== evidence.record.attempt_id);
      return { resumes: [...others, evidence.record] };
    }
    case "reopened":
      return reopen(now, evidence);
    case "hint_read_began": {
      const { underWay } = evidence;
      return { hinted: { ...now.hinted, underWay, reads: now.hinted.reads + (underWay ? 1 : 0) } };
    }
    case "hint_read_over":
      return { hinted: { ...now.hinted, underWay: false } };
  }
}

/** What a person has to look at outlives the resume. */
function reopen(
  { problem, hinted }: OperationStanding,
  { resultDeadline, firstRead }: Extract<OperationEvidence, { readonly kind: "reopened" }>,
): Partial<OperationStanding> {
  const left = problem?.code === "operation_needs_person" ? problem : null;
  return {
    resultDeadline,
    ...{ checks: 0, faults: 0, custodian: false, cancel: null, hinted: { ...hinted, reads: 0 } },
    ...{ remoteState: null, progress: null, result: null, resultDigest: null },
    problem: left,
    nextPoll: left === null ? firstRead : null,
  };
}

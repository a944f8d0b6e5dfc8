import { findRow, type OperationState, type OperationTrigger } from "./state.ts";

/** One entry of the append-only history. */
export type TransitionRecord = {
  readonly at: string;
  readonly actor: string;
  readonly from: OperationState;
  readonly to: OperationState;
  readonly cause: OperationTrigger["kind"];
  readonly remote_job_id: string | null;
};

export type OperationStep =
  | {
      readonly kind: "moved";
      readonly to: OperationState;
      readonly remoteJobId: string | null;
      readonly entry: TransitionRecord;
    }
  | { readonly kind: "refused"; readonly why: "not_in_table" | "no_evidence" | "resume_not_documented" }
  /** Another job id under a token that already named one: both are kept, automation stops, a person decides. */
  | { readonly kind: "contract_violation"; readonly known: string; readonly named: string };

export interface OperationNow {
  readonly state: OperationState;
  readonly remoteJobId: string | null;
}

/** The only way from one state to another. */
export function stepOperation(now: OperationNow, trigger: OperationTrigger, at: string, actor: string): OperationStep {
  const named = "remoteJobId" in trigger ? trigger.remoteJobId : null;
  if (named !== null && now.remoteJobId !== null && named !== now.remoteJobId && named !== "") {
    return { kind: "contract_violation", known: now.remoteJobId, named };
  }
  const row = findRow(now.state, trigger.kind);
  if (row === undefined) return { kind: "refused", why: "not_in_table" };
  if (trigger.kind === "resume_sent" && !trigger.documented) return { kind: "refused", why: "resume_not_documented" };
  if (!hasEvidence(now, trigger) || at === "" || actor === "") return { kind: "refused", why: "no_evidence" };
  const remoteJobId = named ?? now.remoteJobId;
  const entry = { at, actor, from: now.state, to: row.to, cause: trigger.kind, remote_job_id: remoteJobId };
  return { kind: "moved", to: row.to, remoteJobId, entry };
}

function hasEvidence(now: OperationNow, trigger: OperationTrigger): boolean {
  switch (trigger.kind) {
    case "job_named":
      return trigger.remoteJobId !== "";
    case "no_clear_answer":
    case "reconciliation_inconclusive":
      return trigger.observation !== "";
    case "creation_rejected":
      return trigger.proof !== "";
    case "effect_shown":
      // What named a job is a job, and its end is what the provider reports of it.
      return trigger.receipt !== "" && trigger.source !== "" && now.remoteJobId === null;
    case "reconciliation_started":
      return trigger.method.length > 0;
    case "observation_started":
      return trigger.leaseOwner !== "" && trigger.leaseExpiresAtMs > trigger.nowMs;
    case "remote_succeeded":
    case "remote_failed":
    case "remote_cancelled":
      // A report is about the job that is known, and says a state of the provider's own.
      return trigger.remoteJobId !== "" && trigger.remoteJobId === now.remoteJobId && trigger.remoteState !== "";
    case "result_fetched":
      return trigger.remoteJobId !== "" && trigger.remoteJobId === now.remoteJobId && trigger.resultDigest !== "";
    case "cancel_decided":
      return trigger.actor !== "" && trigger.reason !== "" && trigger.expectedEffect !== "";
    case "person_says_happened":
    case "person_says_not":
      return trigger.operator !== "" && trigger.reason !== "";
    case "cancel_sent":
    case "resume_sent":
      return trigger.attemptId !== "";
    case "result_deadline_passed":
      return trigger.nowMs >= trigger.deadlineMs;
  }
}

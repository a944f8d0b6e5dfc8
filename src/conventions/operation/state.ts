/**
 * Asynchronous operations, as one table: what each step needs as evidence, and where it leads. A step that the table does
 * not have, or whose evidence is missing, changes nothing: progress of 100 is no success, having asked is no cancellation.
 */
export const operationStates = [
  "create_pending",
  "create_unknown",
  "reconciliation",
  "accepted",
  "observing",
  "result_collecting",
  "cancel_requested",
  "cancelling",
  "result_timed_out",
  "succeeded",
  "failed",
  "cancelled",
] as const;

export type OperationState = (typeof operationStates)[number];

/** Each trigger carries the evidence that makes it one. */
export type OperationTrigger =
  /** The provider named a job: at creation, or when it was asked about a creation nobody was sure of. */
  | { readonly kind: "job_named"; readonly remoteJobId: string }
  /** The creation call ended without a clear answer. */
  | { readonly kind: "no_clear_answer"; readonly observation: string }
  /** Durable proof that the provider did not and will not create the job. */
  | { readonly kind: "creation_rejected"; readonly proof: string }
  | { readonly kind: "reconciliation_started"; readonly method: ReconcileMethod }
  | { readonly kind: "reconciliation_inconclusive"; readonly observation: string }
  /** Where no job is involved: a later authoritative read shows the state that was asked for. */
  | { readonly kind: "effect_shown"; readonly receipt: string; readonly source: string }
  | {
      readonly kind: "observation_started";
      readonly leaseOwner: string;
      readonly leaseExpiresAtMs: number;
      readonly nowMs: number;
    }
  | { readonly kind: "remote_succeeded"; readonly remoteJobId: string; readonly remoteState: string }
  | { readonly kind: "remote_failed"; readonly remoteJobId: string; readonly remoteState: string }
  | { readonly kind: "remote_cancelled"; readonly remoteJobId: string; readonly remoteState: string }
  | { readonly kind: "result_fetched"; readonly remoteJobId: string; readonly resultDigest: string }
  | {
      readonly kind: "cancel_decided";
      readonly actor: string;
      readonly reason: string;
      readonly expectedEffect: string;
    }
  | { readonly kind: "cancel_sent"; readonly attemptId: string }
  | { readonly kind: "result_deadline_passed"; readonly deadlineMs: number; readonly nowMs: number }
  /** A person says so, under their signature, where nothing else can tell. */
  | { readonly kind: "person_says_happened"; readonly operator: string; readonly reason: string }
  | { readonly kind: "person_says_not"; readonly operator: string; readonly reason: string }
  | { readonly kind: "resume_sent"; readonly documented: boolean; readonly attemptId: string };

export type ReconcileMethod = "token_retry" | "list_by_reference" | "status_by_client_id";

export interface OperationRow {
  readonly from: OperationState;
  readonly trigger: OperationTrigger["kind"];
  readonly to: OperationState;
}

export const operationTable: readonly OperationRow[] = [
  { from: "create_pending", trigger: "job_named", to: "accepted" },
  { from: "create_pending", trigger: "no_clear_answer", to: "create_unknown" },
  { from: "create_pending", trigger: "creation_rejected", to: "failed" },
  { from: "create_unknown", trigger: "reconciliation_started", to: "reconciliation" },
  { from: "reconciliation", trigger: "job_named", to: "accepted" },
  { from: "reconciliation", trigger: "creation_rejected", to: "failed" },
  { from: "reconciliation", trigger: "effect_shown", to: "succeeded" },
  { from: "reconciliation", trigger: "reconciliation_inconclusive", to: "create_unknown" },
  { from: "accepted", trigger: "observation_started", to: "observing" },
  { from: "observing", trigger: "remote_succeeded", to: "result_collecting" },
  { from: "result_collecting", trigger: "result_fetched", to: "succeeded" },
  { from: "accepted", trigger: "cancel_decided", to: "cancel_requested" },
  { from: "observing", trigger: "cancel_decided", to: "cancel_requested" },
  // Somebody else may cancel it at the provider: the report of a final state is the evidence, whoever asked.
  { from: "observing", trigger: "remote_cancelled", to: "cancelled" },
  { from: "cancel_requested", trigger: "cancel_sent", to: "cancelling" },
  // The job may end before the cancel call leaves, or a restart may lose sight of it.
  { from: "cancel_requested", trigger: "remote_cancelled", to: "cancelled" },
  { from: "cancel_requested", trigger: "remote_succeeded", to: "result_collecting" },
  { from: "cancel_requested", trigger: "remote_failed", to: "failed" },
  { from: "cancelling", trigger: "remote_cancelled", to: "cancelled" },
  { from: "cancelling", trigger: "remote_succeeded", to: "result_collecting" },
  { from: "cancelling", trigger: "remote_failed", to: "failed" },
  { from: "accepted", trigger: "remote_failed", to: "failed" },
  { from: "observing", trigger: "remote_failed", to: "failed" },
  { from: "observing", trigger: "result_deadline_passed", to: "result_timed_out" },
  { from: "accepted", trigger: "result_deadline_passed", to: "result_timed_out" },
  { from: "result_timed_out", trigger: "remote_succeeded", to: "result_collecting" },
  { from: "result_timed_out", trigger: "remote_failed", to: "failed" },
  { from: "result_timed_out", trigger: "remote_cancelled", to: "cancelled" },
  { from: "failed", trigger: "resume_sent", to: "observing" },
  // Not while it is being sent or asked about: then something is about to be known.
  ...(
    [
      "create_unknown",
      "accepted",
      "observing",
      "result_collecting",
      "cancel_requested",
      "cancelling",
      "result_timed_out",
    ] as const
  ).flatMap((from): readonly OperationRow[] => [
    { from, trigger: "person_says_happened", to: "succeeded" },
    { from, trigger: "person_says_not", to: "failed" },
  ]),
];

export const operationCauses = [...new Set(operationTable.map(({ trigger }) => trigger))];

export function isSettled(state: OperationState): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}

export function findRow(from: OperationState, trigger: OperationTrigger["kind"]): OperationRow | undefined {
  return operationTable.find((row) => row.from === from && row.trigger === trigger);
}

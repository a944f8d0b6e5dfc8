import type { GapEntry } from "./continuity.ts";

export type CallOutcome = "succeeded" | "failed" | "unknown" | "not_attempted" | "pending";

/** One attempt, from its intent to what is known of its end. */
export interface CallEntry {
  readonly kind: "call";
  readonly at: string;
  readonly ended_at: string | null;
  readonly run_id: string | null;
  readonly call_id: string | null;
  readonly attempt_id: string | null;
  readonly operation_id: string | null;
  readonly intent_event_id: string | null;
  readonly action: string;
  readonly caller: string | null;
  readonly channel: string;
  readonly target: string;
  readonly version_selector: string | null;
  readonly normalized_operation: string | null;
  readonly credential_label: string | null;
  readonly correlation_id: string | null;
  readonly outcome: CallOutcome;
  readonly status: number | null;
  readonly provider_request_id: string | null;
  readonly reason: string | null;
  readonly elapsed_ms: number | null;
  /** The evidence there is, by event type and in order. None of it proves more than its own claim. */
  readonly evidence: readonly string[];
  /** The log was broken off, or is not readable, between intent and result. */
  readonly gap: boolean;
  readonly frame: number;
}

/** Adds to a call that ended unknown; the call's own entry stays as it was. */
export interface ReconciliationEntry {
  readonly kind: "reconciliation";
  readonly at: string;
  readonly run_id: string | null;
  readonly call_id: string | null;
  readonly attempt_id: string | null;
  readonly action: string | null;
  /** `accepted`: the provider has the work, and that says nothing of how it ends. */
  readonly outcome: "succeeded" | "failed" | "accepted" | "unknown";
  /** The read that told, or the operator whose signed word it is. */
  readonly source: string;
  /** What the operator said, where nothing else could tell. */
  readonly said: string | null;
  readonly receipt: string | null;
  readonly frame: number;
}

/** A call that nothing was sent for, or many of them, counted. */
export interface DenialEntry {
  readonly kind: "denial";
  readonly at: string;
  readonly run_id: string | null;
  readonly call_id: string | null;
  readonly action: string | null;
  readonly caller: string | null;
  readonly code: string;
  readonly reason: string | null;
  readonly count: number;
  readonly frame: number;
}

export interface OperationEntry {
  readonly kind: "operation";
  readonly at: string;
  readonly run_id: string;
  readonly operation_id: string;
  readonly from: string | null;
  readonly to: string;
  readonly actor: string;
  readonly cause: string;
  readonly frame: number;
}

/** On its own path: a preview changes nothing. */
export interface PreviewEntry {
  readonly kind: "preview";
  readonly at: string;
  readonly run_id: string | null;
  readonly call_id: string | null;
  /** Null where its beginning is not among what was read, and of what became of a plan. */
  readonly action: string | null;
  readonly plan_id: string | null;
  readonly event: "preview_requested" | "preview_finished" | "plan_executed" | "plan_rejected";
  readonly outcome: string | null;
  readonly frame: number;
}

export type ActivityEntry = CallEntry | ReconciliationEntry | DenialEntry | OperationEntry | PreviewEntry | GapEntry;

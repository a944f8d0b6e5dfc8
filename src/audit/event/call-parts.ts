import { claim, content, group, nullable, oneOf, open, optional, person } from "./field.ts";

/** What a request log says of every call: never a secret, only the label of the credential. */
export const request = group({
  version_selector: nullable(open.text),
  normalized_operation: open.text,
  target_boundary: claim.text,
  credential_label: nullable(open.text),
  decision: open.text,
  status: nullable(open.integer),
  correlation_id: open.text,
});

/** Which claim an event can support. A dispatch does not prove delivery, a receipt does not prove the state. */
export const evidence = oneOf(
  "intent_accepted",
  "dispatch_started",
  "remote_receipt",
  "local_completion",
  "reconciliation_read",
);

/** Ties the events of one call and one attempt together, and a batch to its manifest. */
export const links = {
  parent_event_id: optional(open.text),
  call_id: optional(open.text),
  attempt_id: optional(open.text),
  operation_id: optional(open.text),
  plan_id: optional(open.text),
  session_id: optional(open.text),
  change_execution_id: optional(open.text),
  manifest_digest: optional(open.text),
} as const;

export const emergency = optional(
  group({ reason: claim.text, approver: person.text, normal_ticket_opened_at: nullable(open.text) }),
);

export const channel = oneOf("http", "ssh");
export const outcome = oneOf("succeeded", "failed", "unknown");

export const chargeBasis = oneOf("stated", "assumed", "released", "held");

/** What one send said, beside the digests that approvals are tied to. `kept_digest` names a content of the log. */
export const sent = {
  url: optional(content.text),
  request_digest: optional(open.text),
  kept_digest: optional(open.text),
  /** False where values stand by size and digest alone, because the pack says so. */
  kept_whole: optional(open.flag),
} as const;

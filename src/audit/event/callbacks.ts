import { claim, nullable, oneOf, open, optional } from "./field.ts";

/** Callbacks from providers. Of a body only its digest and its size are kept. */
export const callbackEvents = {
  /** It verified. What it caused is in `effect`; the state of an operation is never among that. */
  callback_received: {
    pack: open.text,
    peer: claim.text,
    provider_event_id: nullable(claim.text),
    remote_job_id: nullable(claim.text),
    body_digest: open.text,
    body_bytes: open.integer,
    effect: oneOf(
      "read_scheduled",
      "read_joined",
      "operation_settled",
      "operation_stopped",
      "allowance_used",
      "kept_for_creation",
      "job_unknown",
      "job_unnamed",
      "repeated",
    ),
    run_id: optional(open.text),
    call_id: optional(open.text),
    operation_id: optional(open.text),
  },
  /** Why, for the operator alone: whoever sent it was told nothing. */
  callback_refused: {
    pack: nullable(open.text),
    peer: claim.text,
    code: open.text,
    body_digest: open.text,
    body_bytes: open.integer,
    correlation_id: optional(open.text),
  },
  /** More of one kind than are written down one by one. */
  callbacks_counted: {
    pack: nullable(open.text),
    what: open.text,
    count: open.integer,
    first_at: open.text,
    last_at: open.text,
  },
} as const;

import { claim, group, nullable, oneOf, open, optional, person } from "./field.ts";

/** The evidence about a caller that an approval was given for. The path is context only. */
const caller = group({
  process: group({
    pid: open.integer,
    start_time: open.text,
    uid: open.integer,
    pidfd_inode: nullable(open.text),
  }),
  path_observed: nullable(claim.text),
  signing_identifier: nullable(claim.text),
  designated_requirement: nullable(open.text),
  cdhash: nullable(open.text),
  validity: oneOf("valid", "package_record", "unsigned", "invalid"),
});

/** A decision is a signature over the exact card, and it names the head of the log that the person saw. */
const decision = {
  approval_id: open.text,
  run_id: optional(open.text),
  session_id: optional(open.text),
  call_id: optional(open.text),
  parent_event_id: optional(open.text),
  operator: person.text,
  operator_key_id: open.text,
  card_digest: open.text,
  signature: open.text,
  signed_at: open.text,
  head_frame: open.integer,
  head_link: open.text,
  /** The statement that the signature is over, as a content of the log. */
  statement_digest: optional(open.text),
  /** Where a passkey answered: its enrolment and its answer, as a content of the log. */
  assertion_digest: optional(open.text),
} as const;

const approval = {
  approval_id: open.text,
  run_id: optional(open.text),
  session_id: optional(open.text),
  call_id: optional(open.text),
  parent_event_id: optional(open.text),
} as const;

/** Events of agent runs. The Sessions journal is folded from these. */
export const sessionEvents = {
  run_started: {
    run_id: open.text,
    caller_id: claim.text,
    purpose: claim.text,
    actions: open.texts,
    budget: group({
      attempts: open.integer,
      duration_ms: open.integer,
      spend_cents: open.integer,
      side_effects: open.integer,
    }),
    deadline_at: optional(open.text),
  },
  run_ended: { run_id: open.text, reason: open.text, budget_stop_reason: optional(nullable(open.text)) },
  caller_evidence: {
    run_id: optional(open.text),
    session: open.text,
    caller,
    authority: optional(claim.text),
    approval: nullable(open.text),
    action: nullable(open.text),
    result: open.text,
  },
  caller_refused: {
    run_id: optional(open.text),
    session: optional(open.text),
    code: open.text,
    detail: optional(claim.text),
  },
  session_started: {
    run_id: open.text,
    session_id: open.text,
    approval_id: open.text,
    caller: claim.text,
    scope: open.texts,
    budget: optional(
      group({
        attempts: open.integer,
        duration_ms: open.integer,
        spend_cents: open.integer,
        side_effects: open.integer,
      }),
    ),
    approved_by: person.text,
    approved_at: open.text,
  },
  session_widened: {
    run_id: open.text,
    session_id: open.text,
    approval_id: open.text,
    scope: open.texts,
    approved_by: person.text,
    approved_at: open.text,
  },
  session_ended: {
    run_id: open.text,
    session_id: open.text,
    end_reason: open.text,
    ended_at: open.text,
    ended_by: optional(nullable(person.text)),
  },
  approval_requested: {
    ...approval,
    mode: oneOf("session", "each_use", "join", "redirect", "access", "custody"),
    card_digest: open.text,
    caller: claim.text,
    /** The first line of the card. */
    authority: optional(claim.text),
    action: optional(open.text),
    expires_at: open.text,
  },
  /** The first of two people said yes; it waits for the second. */
  approval_given: decision,
  approval_approved: decision,
  approval_denied: { ...decision, reason: claim.text },
  /** An operator gave it more time from another machine; the statement is as it was signed. The next card follows. */
  card_extended: {
    ...approval,
    seconds: open.integer,
    operator: person.text,
    statement: person.text,
    signature: open.text,
  },
  approval_expired: approval,
  approval_withdrawn: { ...approval, reason: open.text },
  decision_refused: { approval_id: optional(open.text), code: open.text, operator_key_id: optional(open.text) },
  session_revoked: {
    run_id: open.text,
    session_id: open.text,
    operator: person.text,
    operator_key_id: open.text,
    signature: open.text,
    reason: optional(claim.text),
    head_frame: optional(open.integer),
    head_link: optional(open.text),
  },
} as const;

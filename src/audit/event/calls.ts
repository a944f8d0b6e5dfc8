import { channel, chargeBasis, emergency, evidence, links, outcome, request, sent } from "./call-parts.ts";
import { claim, content, group, nullable, oneOf, open, optional, person, secret } from "./field.ts";

const budgetCall = {
  run_id: open.text,
  ...links,
  attempt: open.integer,
  logical_operation: open.text,
  channel,
  destination_class: open.text,
  outcome: open.text,
  reason: nullable(open.text),
  attempts_remaining: open.integer,
  elapsed_ms: open.integer,
  reserved_spend_cents: open.integer,
  /** The reservation record of the specification. */
  budget: optional(
    group({ attempts_remaining: open.integer, deadline_at: open.text, spend_remaining_cents: open.integer }),
  ),
  reservation: optional(
    group({ action: open.text, maximum_cents: open.integer, provider_reference: nullable(open.text) }),
  ),
  decision: optional(open.text),
} as const;

/** Events of single calls. The Activity journal is folded from these, and from those of operations and requests. */
export const callEvents = {
  /**
   * A card, a signed decision or a request, whole: its canonical text in parts, in order. Written before what refers to
   * it, and once for each time it is referred to anew.
   */
  content_kept: {
    what: oneOf("card", "decision", "assertion", "request", "fields", "plain_request"),
    digest: open.text,
    part: open.integer,
    parts: open.integer,
    text: content.text,
  },
  authorization_granted: {
    run: open.text,
    action: open.text,
    target: claim.text,
    ...links,
    approval_id: optional(open.text),
    authorized_by: optional(person.text),
    request_digest: optional(open.text),
    request: optional(request),
  },
  /** An answer brought a new secret; it is kept under this name, and its bytes are nowhere in the log. */
  secret_minted: { run_id: open.text, ...links, action: open.text, pointer: open.text, minted_id: open.text },
  /** What an exchange brought, without the token: what it is good for and until when. */
  token_obtained: {
    run_id: open.text,
    ...links,
    credential_label: open.text,
    grant: open.text,
    granted: claim.texts,
    missing: open.texts,
    beyond: claim.texts,
    life_s: open.integer,
    rotated: open.flag,
  },
  /** A secret was got from a program or from systemd on this machine, or not: from where, for which call, and nothing of it. */
  source_read: {
    run_id: open.text,
    ...links,
    credential_label: open.text,
    source: open.text,
    from: open.text,
    given: open.flag,
    reason: nullable(open.text),
  },
  token_denied: { run_id: open.text, ...links, credential_label: open.text, grant: open.text, reason: open.text },
  "action.intent": {
    agent_run_id: open.text,
    ...links,
    actor: group({ agent_process: claim.text, human_requester: nullable(person.text) }),
    ticket: nullable(
      group({
        system: open.text,
        reference: claim.text,
        observed_state: claim.text,
        observed_at: open.text,
        scope_digest: open.text,
      }),
    ),
    /** Where a trusted ticket service confirmed it: the read that gave the observed state. */
    ticket_lookup: optional(group({ action: open.text, attempt_id: open.text })),
    action: group({
      channel,
      operation: open.text,
      target: claim.text,
      request_digest: open.text,
      idempotency_id: nullable(secret.text),
    }),
    decision: group({ reference_required: open.flag, authorized_by: nullable(person.text), decision_at: open.text }),
    emergency,
    request,
  },
  intent_accepted: {
    run_id: open.text,
    ...links,
    action_id: open.text,
    operation_id: nullable(open.text),
    channel,
    destination: claim.text,
    method: open.text,
    path: claim.text,
    payload_sha256: nullable(open.text),
    authorization: open.text,
    action: optional(open.text),
    caller: optional(claim.text),
    /** The trace that the agent says the call belongs to; nothing is decided by it. */
    traceparent_claimed: optional(claim.text),
    media_type: optional(nullable(open.text)),
    ...sent,
    emergency,
    request,
  },
  action_started: {
    run: open.text,
    ...links,
    transport: channel,
    operation: open.text,
    request_id: open.text,
    request: optional(request),
  },
  transport_started: {
    run_id: open.text,
    ...links,
    transport: optional(channel),
    request_id: optional(open.text),
    attempt: optional(open.integer),
    request: optional(request),
  },
  action_finished: {
    run: open.text,
    ...links,
    outcome,
    remote_status: nullable(open.integer),
    request_id: open.text,
    provider_request_id: optional(nullable(claim.text)),
    transport_observation: optional(open.text),
    response_digest: optional(nullable(open.text)),
    /** Only where the answer was passed on as it came: how much of it, which the digest is over. */
    streamed_bytes: optional(open.integer),
    /** Only where a recording was asked for; null when it could not be kept. */
    recording_digest: optional(nullable(open.text)),
    confirmed: optional(open.flag),
    reason: optional(nullable(open.text)),
    elapsed_ms: optional(open.integer),
    evidence: optional(evidence),
    request,
  },
  outcome_unobserved: {
    run_id: open.text,
    ...links,
    reason: open.text,
    detail: optional(claim.text),
    elapsed_ms: optional(open.integer),
    request: optional(request),
  },
  /** What a tool in a box sent, and the action it is. Without one it was refused, and `kept_digest` names what was kept of it. */
  contained_request: {
    run_id: open.text,
    ...links,
    origin: claim.text,
    method: claim.text,
    path: claim.text,
    action: nullable(open.text),
    /** Names of header fields and query members that were left out of what is sent. */
    dropped: claim.texts,
    kept_digest: optional(open.text),
    /** The process in the box as the wrapper names it: its claim. */
    process: optional(group({ pid: open.integer, executable: claim.text, arguments: claim.texts })),
  },
  call_denied: {
    run_id: optional(open.text),
    ...links,
    code: open.text,
    action: open.text,
    caller: claim.text,
    reason: optional(nullable(claim.text)),
    request_digest: optional(open.text),
    request: optional(request),
  },
  denials_counted: {
    run_id: optional(open.text),
    code: open.text,
    caller: claim.text,
    count: open.integer,
    first_at: open.text,
    last_at: open.text,
  },
  budget_reserved: budgetCall,
  budget_settled: {
    ...budgetCall,
    settled_spend_cents: optional(open.integer),
    /** What this call was charged, and whether the provider said so; absent while its reserve stays held. */
    charged_cents: optional(open.integer),
    charge_basis: optional(chargeBasis),
    overage_cents: optional(open.integer),
  },
  budget_denied: { ...budgetCall, budget_stop_reason: optional(open.text) },
  ticket_observed: {
    run_id: open.text,
    ...links,
    system: open.text,
    ticket_ref: claim.text,
    observed_state: claim.text,
    observed_at: open.text,
    scope_digest: open.text,
    issued_for_run: open.text,
    expires_at: open.text,
    accepted: open.flag,
    code: optional(nullable(open.text)),
  },
} as const;

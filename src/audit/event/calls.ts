import { claim, content, group, groups, nullable, oneOf, open, optional, person, secret } from "./field.ts";

/** What a request log says of every call: never a secret, only the label of the credential. */
const request = group({
  version_selector: nullable(open.text),
  normalized_operation: open.text,
  target_boundary: claim.text,
  credential_label: nullable(open.text),
  decision: open.text,
  status: nullable(open.integer),
  correlation_id: open.text,
});

/** Which claim an event can support. A dispatch does not prove delivery, a receipt does not prove the state. */
const evidence = oneOf(
  "intent_accepted",
  "dispatch_started",
  "remote_receipt",
  "local_completion",
  "reconciliation_read",
);

/** Ties the events of one call and one attempt together, and a batch to its manifest. */
const links = {
  parent_event_id: optional(open.text),
  call_id: optional(open.text),
  attempt_id: optional(open.text),
  operation_id: optional(open.text),
  plan_id: optional(open.text),
  session_id: optional(open.text),
  change_execution_id: optional(open.text),
  manifest_digest: optional(open.text),
} as const;

const emergency = optional(
  group({ reason: claim.text, approver: person.text, normal_ticket_opened_at: nullable(open.text) }),
);

export const channel = oneOf("http", "ssh");
const plane = oneOf("agent", "mcp", "operator", "callbacks");
export const outcome = oneOf("succeeded", "failed", "unknown");

export const chargeBasis = oneOf("stated", "assumed", "released", "held");

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

/** What one send said, beside the digests that approvals are tied to. `kept_digest` names a content of the log. */
const sent = {
  url: optional(content.text),
  request_digest: optional(open.text),
  kept_digest: optional(open.text),
  /** False where values stand by size and digest alone, because the pack says so. */
  kept_whole: optional(open.flag),
} as const;

/** Events of single calls. The Activity journal is folded from these. */
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
  reconciled_success: {
    run_id: open.text,
    ...links,
    receipt: claim.text,
    source: claim.text,
    evidence: optional(evidence),
    request: optional(request),
  },
  reconciled_failure: {
    run_id: open.text,
    ...links,
    proof: claim.text,
    source: claim.text,
    evidence: optional(evidence),
    request: optional(request),
  },
  /** The provider knows the job: it was accepted. How it ends is read from it afterwards. */
  reconciled_accepted: {
    run_id: open.text,
    ...links,
    remote_job_id: claim.text,
    receipt: claim.text,
    source: claim.text,
    evidence: optional(evidence),
  },
  /** A person said what became of it, under their own signature over exactly this statement. */
  operation_settled: {
    run_id: open.text,
    ...links,
    happened: open.flag,
    reason: claim.text,
    although: nullable(claim.text),
    operator: person.text,
    statement: person.text,
    signature: open.text,
  },
  /** An operator asked this of it from another machine; the statement is as it was signed. */
  operation_asked: {
    run_id: open.text,
    ...links,
    errand: oneOf("cancel", "resume", "reconcile"),
    reason: claim.text,
    operator: person.text,
    statement: person.text,
    signature: open.text,
  },
  reconciliation_inconclusive: {
    run_id: open.text,
    ...links,
    reason: open.text,
    source: claim.text,
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
  /**
   * A request that was answered on one of the planes, in the words of the specification: principal, endpoint, accepted
   * media type, digest, safe canonical fields, decision, result. Reads of the gateway's own state are not written down.
   */
  request_accepted: {
    run_id: optional(open.text),
    call_id: optional(open.text),
    plane,
    principal: claim.text,
    operator: optional(person.text),
    /** The trace that an agent says the request belongs to; nothing is decided by it. */
    traceparent_claimed: optional(claim.text),
    endpoint: open.text,
    media_type: nullable(open.text),
    request_digest: open.text,
    /** The fields, as a content of the log. */
    fields_digest: nullable(open.text),
    decision: open.text,
    status: open.integer,
    correlation_id: open.text,
  },
  /** A request that was answered with a problem; `parent_event_id` names the denial that the gateway wrote of it. */
  request_refused: {
    run_id: optional(open.text),
    call_id: optional(open.text),
    parent_event_id: optional(open.text),
    plane,
    principal: claim.text,
    operator: optional(person.text),
    traceparent_claimed: optional(claim.text),
    endpoint: open.text,
    code: open.text,
    reason: claim.text,
    media_type: nullable(open.text),
    /** Null where the bytes never became a command. */
    request_digest: nullable(open.text),
    fields_digest: nullable(open.text),
    /** Of the body as it came, as far as it was read before the refusal. */
    body_digest: nullable(open.text),
    body_bytes: open.integer,
    correlation_id: open.text,
  },
  requests_counted: {
    plane,
    principal: claim.text,
    count: open.integer,
    first_at: open.text,
    last_at: open.text,
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
  operation_transition: {
    run_id: open.text,
    ...links,
    operation_id: open.text,
    at: open.text,
    actor: open.text,
    from: nullable(open.text),
    to: open.text,
    cause: claim.text,
    remote_job_id: nullable(claim.text),
  },
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

/** Previews keep to a path of their own: nothing that watches for completed changes reads it. */
export const previewEvents = {
  preview_requested: {
    run_id: open.text,
    ...links,
    action: open.text,
    traceparent_claimed: optional(claim.text),
    ...sent,
    request_digest: open.text,
    request,
  },
  preview_finished: {
    run_id: open.text,
    ...links,
    plan_id: nullable(open.text),
    executable: nullable(open.flag),
    outcome,
    request_digest: open.text,
    effects_digest: optional(nullable(open.text)),
    read_revisions: optional(groups({ resource: claim.text, revision: claim.text })),
    expires_at: optional(nullable(open.text)),
    request,
  },
  plan_rejected: { run_id: open.text, ...links, plan_id: open.text, code: open.text, changed: optional(claim.texts) },
  plan_executed: { run_id: open.text, ...links, plan_id: open.text, request_digest: open.text },
} as const;

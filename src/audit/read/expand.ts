import { furtherEventId } from "../../kernel/ids.ts";
import { plainUrl } from "../event/attempts.ts";
import type { AttemptBegun, AttemptEnded, AuditEvent, LogRecord } from "../event.ts";

/** The events of the specification that a record stands for, in their order, each with its own sequence. */
export function expand(record: LogRecord): readonly AuditEvent[] {
  switch (record.event_type) {
    case "attempt_begun":
      return begun(record, record.sequence);
    case "attempt_ended":
      return ended(record);
    case "call_begun":
      return [keptRequest(record), ...begun(record, record.sequence + 1)];
    case "call_ended": {
      const events = ended(record);
      return [...events, ...answered(record, record.sequence + events.length)];
    }
    default:
      return [record];
  }
}

type Numbered<Record> = Record & { readonly sequence: number };

function begun(record: AttemptBegun, sequence: number): readonly AuditEvent[] {
  const { event_id, occurred_at, run_id, action, channel, destination, path } = record;
  const linked = links(record, event_id);
  const granted: AuditEvent[] =
    record.authorized_by === undefined
      ? []
      : [
          {
            sequence,
            event_id: furtherEventId(event_id, 1),
            event_type: "authorization_granted",
            occurred_at,
            run: run_id,
            action,
            target: channel === "ssh" ? destination : plainUrl(channel, destination, path),
            ...linked,
            ...(record.approval_id === undefined ? {} : { approval_id: record.approval_id }),
            authorized_by: record.authorized_by,
            request_digest: record.request_digest,
          },
        ];
  const first = sequence + granted.length;
  return [
    ...granted,
    {
      sequence: first,
      event_id,
      event_type: "intent_accepted",
      occurred_at,
      run_id,
      ...linked,
      action_id: event_id,
      operation_id: record.operation_id ?? null,
      channel,
      destination,
      method: record.method,
      path,
      payload_sha256: record.payload_sha256 ?? null,
      authorization: record.authorization,
      action,
      caller: record.caller,
      media_type: record.media_type ?? null,
      ...(record.traceparent_claimed === undefined ? {} : { traceparent_claimed: record.traceparent_claimed }),
      url: record.url ?? plainUrl(channel, destination, path),
      request_digest: record.request_digest,
      kept_digest: record.kept_digest ?? record.request_digest,
      kept_whole: record.kept_digest === undefined,
      request: requestOf(record, record.target_boundary ?? destination, null),
    },
    {
      sequence: first + 1,
      event_id: furtherEventId(event_id, 2),
      event_type: "action_started",
      occurred_at,
      run: run_id,
      parent_event_id: event_id,
      ...linked,
      transport: channel,
      operation: action,
      request_id: event_id,
    },
    {
      sequence: first + 2,
      event_id: furtherEventId(event_id, 3),
      event_type: "budget_reserved",
      occurred_at,
      ...linked,
      ...budgetOf(record, "allow", null, 0),
      ...reservationOf(record, null),
    },
  ];
}

function ended(record: Numbered<AttemptEnded>): readonly AuditEvent[] {
  const { sequence, event_id, occurred_at, run_id, attempt_id, channel, outcome, elapsed_ms } = record;
  const linked = links(record, attempt_id);
  const reason = record.reason ?? null;
  const status = record.remote_status ?? null;
  const provider_request_id = record.provider_request_id ?? null;
  const request = requestOf(record, record.target_boundary, status);
  const events: AuditEvent[] = [
    {
      sequence,
      event_id: furtherEventId(event_id, 1),
      event_type: "transport_started",
      occurred_at: record.started_at,
      run_id,
      ...linked,
      transport: channel,
      request_id: attempt_id,
      attempt: record.attempt,
    },
  ];
  if (record.unobserved === true) {
    events.push({
      sequence: sequence + events.length,
      event_id: furtherEventId(event_id, 2),
      event_type: "outcome_unobserved",
      occurred_at,
      run_id,
      parent_event_id: attempt_id,
      ...linked,
      reason: reason ?? "",
      elapsed_ms,
      request,
    });
  }
  const next = sequence + events.length;
  events.push(
    {
      sequence: next,
      event_id,
      event_type: "action_finished",
      occurred_at,
      run: run_id,
      parent_event_id: attempt_id,
      ...linked,
      outcome,
      remote_status: status,
      request_id: attempt_id,
      provider_request_id,
      transport_observation: record.transport_observation,
      response_digest: record.response_digest ?? null,
      ...(record.streamed_bytes === undefined ? {} : { streamed_bytes: record.streamed_bytes }),
      ...(record.recording_digest === undefined ? {} : { recording_digest: record.recording_digest }),
      confirmed: false,
      reason,
      elapsed_ms,
      evidence: record.transport_observation === "answered" ? "remote_receipt" : "local_completion",
      request,
    },
    {
      sequence: next + 1,
      event_id: furtherEventId(event_id, 3),
      event_type: "budget_settled",
      occurred_at,
      parent_event_id: attempt_id,
      ...linked,
      ...budgetOf(record, outcome, reason, elapsed_ms),
      settled_spend_cents: record.settled_spend_cents,
      charge_basis: record.charge_basis,
      ...(record.charged_cents === undefined ? {} : { charged_cents: record.charged_cents }),
      ...(record.overage_cents === undefined ? {} : { overage_cents: record.overage_cents }),
      ...reservationOf(record, provider_request_id),
    },
  );
  return events;
}

function keptRequest(record: CallBegun & LogRecord): AuditEvent {
  const { sequence, event_id, occurred_at, kept_text, request_digest, kept_digest = request_digest } = record;
  const envelope = {
    sequence,
    event_id: furtherEventId(event_id, 4),
    event_type: "content_kept",
    occurred_at,
  } as const;
  return { ...envelope, what: "request", digest: kept_digest, part: 0, parts: 1, text: kept_text };
}

/** The word about the request that the end was the answer to, and its fields before it. */
function answered({ event_id, occurred_at, run_id, call_id, asked }: CallEnded, next: number): readonly AuditEvent[] {
  const { fields, ...accepted } = asked;
  const kept: AuditEvent[] =
    fields === undefined
      ? []
      : [
          {
            sequence: next,
            event_id: furtherEventId(event_id, 4),
            event_type: "content_kept",
            occurred_at,
            what: "fields",
            digest: accepted.fields_digest ?? "",
            part: 0,
            parts: 1,
            text: fields,
          },
        ];
  return [
    ...kept,
    {
      sequence: next + kept.length,
      event_id: furtherEventId(event_id, 5),
      event_type: "request_accepted",
      occurred_at,
      run_id,
      call_id,
      ...accepted,
    },
  ];
}

type Facts = AttemptBegun | AttemptEnded;
type CallBegun = Extract<AttemptBegun, { readonly event_type: "call_begun" }>;
type CallEnded = Extract<AttemptEnded, { readonly event_type: "call_ended" }>;

function links({ call_id, session_id, operation_id }: Facts, attempt_id: string) {
  const base = { call_id, attempt_id, session_id };
  return operation_id === undefined ? base : { ...base, operation_id };
}

function requestOf(facts: Facts, target_boundary: string, status: number | null) {
  return {
    version_selector: facts.version_selector ?? null,
    normalized_operation: facts.normalized_operation,
    target_boundary,
    credential_label: facts.credential_label ?? null,
    decision: facts.authorization,
    status,
    correlation_id: facts.call_id,
  };
}

function budgetOf(facts: Facts, outcome: string, reason: string | null, elapsed_ms: number) {
  return {
    run_id: facts.run_id,
    attempt: facts.attempt,
    logical_operation: facts.action,
    channel: facts.channel,
    destination_class: facts.destination_class,
    outcome,
    reason,
    attempts_remaining: facts.attempts_remaining,
    elapsed_ms,
    reserved_spend_cents: facts.reserved_spend_cents,
  };
}

function reservationOf(facts: Facts, provider_reference: string | null) {
  return {
    budget: {
      attempts_remaining: facts.attempts_remaining,
      deadline_at: facts.deadline_at,
      spend_remaining_cents: facts.spend_remaining_cents,
    },
    reservation: { action: facts.action, maximum_cents: facts.maximum_cents, provider_reference },
    decision: "allow",
  };
}

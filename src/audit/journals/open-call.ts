import { type AuditEvent, type EventOf, runOf } from "../event.ts";
import type { CallEntry, DenialEntry } from "./activity-entry.ts";

/** A call of the Activity journal while it has no result: what its intent told of it, and what came since. */
export type OpenCall = { -readonly [Name in keyof CallEntry]: Name extends "evidence" ? string[] : CallEntry[Name] };

export interface Linked {
  readonly parent_event_id?: string | undefined;
  readonly call_id?: string | undefined;
  readonly attempt_id?: string | undefined;
}

export function fromIntent(event: EventOf<"intent_accepted">, frame: number): OpenCall {
  const entry = blank(event, frame);
  entry.action = event.action ?? event.action_id;
  entry.operation_id = event.operation_id;
  entry.caller = event.caller ?? null;
  entry.channel = event.channel;
  entry.target = event.request.target_boundary;
  return withRequest(entry, event.request);
}

export function fromTicketIntent(event: EventOf<"action.intent">, frame: number): OpenCall {
  const entry = blank(event, frame);
  entry.action = event.action.operation;
  entry.operation_id = event.operation_id ?? null;
  entry.caller = event.actor.agent_process;
  entry.channel = event.action.channel;
  entry.target = event.action.target;
  return withRequest(entry, event.request);
}

function withRequest(entry: OpenCall, request: EventOf<"intent_accepted">["request"]): OpenCall {
  entry.version_selector = request.version_selector;
  entry.normalized_operation = request.normalized_operation;
  entry.credential_label = request.credential_label;
  entry.correlation_id = request.correlation_id;
  return entry;
}

/** A result whose intent this reader has not seen: shown with the gap before it. */
export function orphan(event: AuditEvent & Linked, frame: number): OpenCall {
  const entry = blank(event, frame);
  entry.gap = true;
  entry.evidence = [];
  entry.intent_event_id = null;
  return entry;
}

function blank(event: AuditEvent & Linked, frame: number): OpenCall {
  return {
    kind: "call",
    at: event.occurred_at,
    ended_at: null,
    run_id: runOf(event) ?? null,
    call_id: event.call_id ?? null,
    attempt_id: event.attempt_id ?? null,
    operation_id: null,
    intent_event_id: event.event_id,
    action: "",
    caller: null,
    channel: "",
    target: "",
    version_selector: null,
    normalized_operation: null,
    credential_label: null,
    correlation_id: null,
    outcome: "pending",
    status: null,
    provider_request_id: null,
    reason: null,
    elapsed_ms: null,
    evidence: [event.event_type],
    gap: false,
    frame,
  };
}

export function denial(
  event: AuditEvent & Linked,
  frame: number,
  what: Pick<DenialEntry, "action" | "caller" | "code" | "reason">,
  count = 1,
): DenialEntry {
  return {
    kind: "denial",
    at: event.occurred_at,
    run_id: runOf(event) ?? null,
    call_id: event.call_id ?? null,
    ...what,
    count,
    frame,
  };
}

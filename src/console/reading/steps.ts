import type { AuditEvent } from "../../audit/event.ts";
import type { DecisionRecord } from "../../surfaces/cli/audit/trace-record.ts";

/** Names of the steps of a call, the same for who reads the log and for the page. */
export const decisionStep = (approvalId: string, { at, operator }: Pick<DecisionRecord, "at" | "operator">): string =>
  `${approvalId} ${at} ${operator}`;
export const endStep = (attemptId: string): string => `${attemptId} end`;

/** Where each step stands among these events; an attempt whose end was told twice ends with the first. */
export function placesOf(events: readonly AuditEvent[]): Readonly<Record<string, number>> {
  const places = new Map<string, number>();
  for (const [place, event] of events.entries()) {
    const step = stepOf(event);
    if (!places.has(step)) places.set(step, place);
  }
  return Object.fromEntries(places);
}

function stepOf(event: AuditEvent): string {
  switch (event.event_type) {
    case "approval_requested":
      return event.approval_id;
    case "approval_given":
    case "approval_approved":
    case "approval_denied":
      return decisionStep(event.approval_id, { at: event.signed_at, operator: event.operator });
    case "approval_expired":
    case "approval_withdrawn":
      return decisionStep(event.approval_id, { at: event.occurred_at, operator: null });
    case "intent_accepted":
    case "preview_requested":
      return event.attempt_id ?? event.event_id;
    case "action_finished":
      return endStep(event.attempt_id ?? event.event_id);
    default:
      return event.event_id;
  }
}

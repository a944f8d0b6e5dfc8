import { type AuditEvent, type EventOf, runOf } from "../event.ts";
import type { LogItem } from "../read/reader.ts";
import type { ActivityEntry, PreviewEntry, ReconciliationEntry } from "./activity-entry.ts";
import { watchSequence } from "./continuity.ts";
import { rememberEnded } from "./ended.ts";
import { denial, fromIntent, fromTicketIntent, type Linked, type OpenCall, orphan } from "./open-call.ts";

/** The Activity journal while it is being folded: entries come out as they settle, what is open stays inside. */
export interface ActivityFold {
  add(item: LogItem): readonly ActivityEntry[];
  /** What has no result yet, as it stands at the end of what was read. */
  rest(): readonly ActivityEntry[];
}

/** What the event that ended a call says about it. */
type End = Pick<OpenCall, "outcome" | "status" | "provider_request_id" | "reason" | "elapsed_ms">;
type PreviewEvent = EventOf<PreviewEntry["event"]>;
type Intent = EventOf<"action.intent"> | EventOf<"intent_accepted">;

const NOTHING: readonly ActivityEntry[] = [];

/** @internal A whole log at once, as tests read it. */
export function foldActivity(items: Iterable<LogItem>): ActivityEntry[] {
  const fold = startActivity();
  const entries: ActivityEntry[] = [];
  for (const item of items) entries.push(...fold.add(item));
  entries.push(...fold.rest());
  return entries;
}

export function startActivity(): ActivityFold {
  const open = new Map<string, OpenCall>();
  /** Of calls whose intent was told more than once: the later events. */
  const otherNames = new Map<OpenCall, readonly string[]>();
  /** Calls that ended unknown: few, and a reconciliation wants their names. */
  const unknown = new Map<string, OpenCall>();
  /** The actions of previews under way, by attempt: the end of one does not repeat it. */
  const previewing = new Map<string, string>();
  const ended = rememberEnded();
  const checkSequence = watchSequence("activity");

  function addRecord(event: AuditEvent, frame: number): readonly ActivityEntry[] {
    switch (event.event_type) {
      case "action.intent":
      case "intent_accepted":
        return begin(event, frame);
      case "action_started":
      case "transport_started":
        findOpen(event)?.evidence.push(event.event_type);
        return NOTHING;
      case "action_finished":
        return settle(event, frame, {
          outcome: event.outcome,
          status: event.remote_status,
          provider_request_id: event.provider_request_id ?? null,
          reason: event.reason ?? null,
          elapsed_ms: event.elapsed_ms ?? null,
        });
      case "outcome_unobserved":
        return settle(event, frame, {
          outcome: "unknown",
          status: null,
          provider_request_id: null,
          reason: event.reason,
          elapsed_ms: event.elapsed_ms ?? null,
        });
      case "reconciled_success":
        return reconcile(event, frame, "succeeded", event.receipt);
      case "reconciled_failure":
        return reconcile(event, frame, "failed", event.proof);
      case "reconciliation_inconclusive":
        return reconcile(event, frame, "unknown", null);
      case "reconciled_accepted":
        return reconcile(event, frame, "accepted", event.receipt);
      case "operation_settled": {
        const { operator, reason, happened, although } = event;
        const despite = although === null ? "" : ` (although evidence might still have come: ${although})`;
        const said = `${reason}${despite}`;
        return reconcile(
          { ...event, source: operator },
          frame,
          happened ? "succeeded" : "failed",
          event.signature,
          said,
        );
      }
      case "call_denied":
        return [
          denial(event, frame, {
            action: event.action,
            caller: event.caller,
            code: event.code,
            reason: event.reason ?? null,
          }),
        ];
      case "budget_denied":
        return [
          denial(event, frame, {
            action: event.logical_operation,
            caller: null,
            code: event.reason ?? event.outcome,
            reason: event.budget_stop_reason ?? null,
          }),
        ];
      case "request_refused":
        // One that the gateway has told of is its denial's other side.
        if (event.parent_event_id !== undefined) return NOTHING;
        return [
          denial(event, frame, {
            action: event.endpoint,
            caller: event.principal,
            code: event.code,
            reason: event.reason,
          }),
        ];
      case "denials_counted":
        return [
          denial(event, frame, { action: null, caller: event.caller, code: event.code, reason: null }, event.count),
        ];
      case "operation_transition":
        return [
          {
            kind: "operation",
            at: event.at,
            run_id: event.run_id,
            operation_id: event.operation_id,
            from: event.from,
            to: event.to,
            actor: event.actor,
            cause: event.cause,
            frame,
          },
        ];
      case "preview_requested":
        previewing.set(event.event_id, event.action);
        return [preview(event, frame, event.action, null)];
      case "preview_finished": {
        const attempt = event.attempt_id ?? "";
        const action = previewing.get(attempt) ?? null;
        previewing.delete(attempt);
        return [preview(event, frame, action, event.outcome)];
      }
      case "plan_rejected":
      case "plan_executed":
        return [preview(event, frame, null, null)];
      default:
        // The events of the other journals: not this one's to tell.
        return NOTHING;
    }
  }

  function begin(event: Intent, frame: number): readonly ActivityEntry[] {
    const known = findOpen(event);
    if (known !== undefined) {
      known.evidence.push(event.event_type);
      open.set(event.event_id, known);
      otherNames.set(known, [...(otherNames.get(known) ?? []), event.event_id]);
      return NOTHING;
    }
    const entry = event.event_type === "action.intent" ? fromTicketIntent(event, frame) : fromIntent(event, frame);
    open.set(event.attempt_id ?? event.event_id, entry);
    if (event.attempt_id !== undefined) open.set(event.event_id, entry);
    return NOTHING;
  }

  function findOpen(event: Linked): OpenCall | undefined {
    return (
      (event.attempt_id === undefined ? undefined : open.get(event.attempt_id)) ??
      (event.parent_event_id === undefined ? undefined : open.get(event.parent_event_id))
    );
  }

  /** It is kept under the names of its intent, and may have been found under one of the result's. */
  function forget({ attempt_id, parent_event_id }: Linked, entry: OpenCall): void {
    if (entry.attempt_id !== null) open.delete(entry.attempt_id);
    if (entry.intent_event_id !== null) open.delete(entry.intent_event_id);
    if (attempt_id !== undefined && attempt_id !== entry.attempt_id) open.delete(attempt_id);
    if (parent_event_id !== undefined && parent_event_id !== entry.intent_event_id) open.delete(parent_event_id);
    for (const name of otherNames.get(entry) ?? []) open.delete(name);
    otherNames.delete(entry);
  }

  function settle(event: Linked & AuditEvent, frame: number, end: End): readonly ActivityEntry[] {
    const found = findOpen(event);
    const key = event.attempt_id ?? event.parent_event_id ?? "";
    if (found === undefined && end.outcome === "unknown" && (unknown.has(key) || ended.has(key))) return NOTHING;
    // An answer that came after a lock had called it unknown.
    if (found === undefined && unknown.has(key) && (end.outcome === "succeeded" || end.outcome === "failed")) {
      ended.add(key);
      return reconcile(
        { ...event, run_id: runOf(event) ?? "", source: "the answer, which came late" },
        frame,
        end.outcome,
        null,
      );
    }
    const entry: OpenCall = found ?? orphan(event, frame);
    entry.outcome = end.outcome;
    entry.status = end.status;
    entry.provider_request_id = end.provider_request_id;
    entry.reason = end.reason;
    entry.elapsed_ms = end.elapsed_ms;
    entry.ended_at = event.occurred_at;
    entry.evidence.push(event.event_type);
    if (found !== undefined) forget(event, found);
    const name = entry.attempt_id ?? entry.intent_event_id ?? event.event_id;
    if (entry.outcome === "unknown") unknown.set(name, entry);
    else ended.add(name);
    return [entry];
  }

  function reconcile(
    event: Linked & Pick<EventOf<"reconciled_success">, "run_id" | "occurred_at" | "source">,
    frame: number,
    outcome: ReconciliationEntry["outcome"],
    receipt: string | null,
    said: string | null = null,
  ): readonly ActivityEntry[] {
    const key = event.attempt_id ?? event.parent_event_id ?? "";
    const call = unknown.get(key) ?? open.get(key);
    if (outcome !== "unknown") unknown.delete(key);
    return [
      {
        kind: "reconciliation",
        at: event.occurred_at,
        run_id: event.run_id,
        call_id: event.call_id ?? call?.call_id ?? null,
        attempt_id: event.attempt_id ?? call?.attempt_id ?? null,
        action: call?.action ?? null,
        outcome,
        source: event.source,
        said,
        receipt,
        frame,
      },
    ];
  }

  return {
    add(item) {
      const gap = checkSequence(item);
      if (item.kind === "opened" && item.reason !== "rotate") for (const entry of open.values()) entry.gap = true;
      const entries = item.kind === "record" ? addRecord(item.event, item.frame) : NOTHING;
      return gap === undefined ? entries : [gap, ...entries];
    },
    rest() {
      return [...new Set(open.values())].map((entry) => ({ ...entry, outcome: entry.gap ? "unknown" : "pending" }));
    },
  };
}

function preview(event: PreviewEvent, frame: number, action: string | null, outcome: string | null): PreviewEntry {
  return {
    kind: "preview",
    at: event.occurred_at,
    run_id: event.run_id,
    call_id: event.call_id ?? null,
    action,
    plan_id: event.plan_id ?? null,
    event: event.event_type,
    outcome,
    frame,
  };
}

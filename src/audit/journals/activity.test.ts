import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AuditEvent, NewEvent } from "../event.ts";
import type { LogItem } from "../read/reader.ts";
import { foldActivity, startActivity } from "./activity.ts";
import type { ActivityEntry, CallEntry } from "./activity-entry.ts";

const request = {
  version_selector: null,
  normalized_operation: "POST /v1/reports",
  target_boundary: "acme",
  credential_label: "acme-token",
  decision: "allow",
  status: null,
  correlation_id: "cor_1",
};
const AT = "2026-01-01T00:00:00.000Z";

function intent(id: string, event = `intent_${id}`): NewEvent {
  return {
    event_id: event,
    event_type: "intent_accepted",
    occurred_at: AT,
    run_id: "run_1",
    attempt_id: id,
    action_id: "acme.report.create",
    operation_id: null,
    channel: "http",
    destination: "api.acme.example",
    method: "POST",
    path: "/v1/reports",
    payload_sha256: null,
    authorization: "session",
    request,
  };
}

/** The other shape of an intent, for the same attempt. */
function ticketIntent(id: string): NewEvent {
  return {
    event_id: `ticket_${id}`,
    event_type: "action.intent",
    occurred_at: AT,
    agent_run_id: "run_1",
    attempt_id: id,
    actor: { agent_process: "node", human_requester: null },
    ticket: null,
    action: { channel: "http", operation: "a.b", target: "t", request_digest: "sha256:0", idempotency_id: null },
    decision: { reference_required: false, authorized_by: null, decision_at: AT },
    request,
  } as unknown as NewEvent;
}

function started(id: string): NewEvent {
  return {
    event_id: `started_${id}`,
    event_type: "transport_started",
    occurred_at: AT,
    run_id: "run_1",
    attempt_id: id,
  } as unknown as NewEvent;
}

function finished(id: string, extra: Record<string, unknown> = {}): NewEvent {
  return {
    event_id: `done_${id}`,
    event_type: "action_finished",
    occurred_at: AT,
    run: "run_1",
    attempt_id: id,
    parent_event_id: `intent_${id}`,
    outcome: "succeeded",
    remote_status: 201,
    request_id: "req",
    request,
    ...extra,
  } as unknown as NewEvent;
}

function unobserved(id: string): NewEvent {
  return {
    event_id: `lost_${id}`,
    event_type: "outcome_unobserved",
    occurred_at: AT,
    run_id: "run_1",
    attempt_id: id,
    parent_event_id: `intent_${id}`,
    reason: "timeout",
  } as unknown as NewEvent;
}

function itemsOf(events: readonly NewEvent[]): LogItem[] {
  return events.map((event, index) => ({
    kind: "record",
    segment: 1,
    frame: index + 1,
    index: 0,
    journal: "activity",
    event: { sequence: index + 1, ...event } as AuditEvent,
  }));
}

const calls = (entries: readonly ActivityEntry[]): CallEntry[] => entries.filter((entry) => entry.kind === "call");

test("a call whose intent was told twice is told once, and nothing of it stays open", () => {
  for (const order of [
    [intent("a"), ticketIntent("a")],
    [ticketIntent("a"), intent("a")],
  ]) {
    for (const parent of ["intent_a", "ticket_a"]) {
      const entries = foldActivity(itemsOf([...order, finished("a", { parent_event_id: parent })]));
      assert.equal(calls(entries).length, 1, parent);
      assert.equal(calls(entries)[0]?.outcome, "succeeded");
    }
  }
});

test("a second result of an ended call does not change the entry that was told", () => {
  const fold = startActivity();
  const told: ActivityEntry[] = [];
  for (const item of itemsOf([intent("a"), ticketIntent("a"), finished("a"), finished("a", { outcome: "failed" })])) {
    told.push(...fold.add(item).map((entry) => structuredClone(entry)));
  }
  assert.deepEqual(
    calls(told).map(({ outcome, gap }) => [outcome, gap]),
    [
      ["succeeded", false],
      ["failed", true],
    ],
  );
  assert.deepEqual(fold.rest(), []);
});

type Ending = "none" | "finished" | "failed" | "unobserved";

const plans = fc.array(
  fc.record({
    ending: fc.constantFrom<Ending>("none", "finished", "failed", "unobserved"),
    twice: fc.boolean(),
    started: fc.boolean(),
    byParent: fc.boolean(),
  }),
  { maxLength: 12 },
);

test("however calls interleave, each is told once, with its own outcome and all its evidence", () => {
  fc.assert(
    fc.property(plans, fc.infiniteStream(fc.nat()), (several, picks) => {
      const threads = several.map(({ ending, twice, started: began, byParent }, index) => {
        const id = `att_${index}`;
        const events = [intent(id)];
        if (twice) events.push(ticketIntent(id));
        if (began) events.push(started(id));
        const link = byParent ? { attempt_id: undefined } : {};
        if (ending === "finished") events.push(finished(id, link));
        if (ending === "failed") events.push(finished(id, { ...link, outcome: "failed", remote_status: 409 }));
        if (ending === "unobserved") events.push(unobserved(id));
        return events;
      });
      const order: NewEvent[] = [];
      for (let open = threads.filter(({ length }) => length > 0); open.length > 0; ) {
        const [pick = 0] = picks.take(1);
        const event = open[pick % open.length]?.shift();
        if (event !== undefined) order.push(event);
        open = open.filter(({ length }) => length > 0);
      }
      const entries = calls(foldActivity(itemsOf(order)));
      const outcomes = { none: "pending", finished: "succeeded", failed: "failed", unobserved: "unknown" } as const;
      assert.equal(entries.length, several.length);
      for (const [index, { ending, twice, started: began }] of several.entries()) {
        const entry = entries.find(({ attempt_id }) => attempt_id === `att_${index}`);
        assert.equal(entry?.outcome, outcomes[ending]);
        assert.equal(entry?.evidence.length, 1 + Number(twice) + Number(began) + Number(ending !== "none"));
        assert.equal(entry?.status, { finished: 201, failed: 409, unobserved: null, none: null }[ending]);
        assert.equal(entry?.gap, false);
      }
    }),
  );
});

test("a log that was broken off leaves what was open unknown, and what had ended as it was", () => {
  fc.assert(
    fc.property(plans, (several) => {
      const events = several.flatMap(({ ending }, index) => {
        const id = `att_${index}`;
        return ending === "none" ? [intent(id)] : [intent(id), finished(id)];
      });
      const crash: LogItem = { kind: "opened", segment: 2, frame: 999, reason: "crash", timeSeconds: 1 };
      const entries = calls(foldActivity([...itemsOf(events), crash]));
      assert.equal(entries.length, several.length);
      for (const { outcome, gap, ended_at } of entries) {
        assert.deepEqual([outcome, gap], ended_at === null ? ["unknown", true] : ["succeeded", false]);
      }
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEvent } from "../../audit/event.ts";
import { startCharts } from "./charts.ts";

test("a call whose end was not observed counts once, although its end is told a second time", () => {
  const charts = startCharts();
  const tell = (event: object): void => {
    const common = { event_id: "evt_1", occurred_at: "2026-01-01T00:07:00.000Z", sequence: 1, attempt_id: "evt_a" };
    const place = { segment: 1, frame: 1, index: 0, journal: "activity" } as const;
    charts.add({ kind: "record", ...place, event: { ...common, ...event } as unknown as AuditEvent });
  };
  tell({ event_type: "outcome_unobserved", reason: "the connection was lost" });
  tell({ event_type: "action_finished", outcome: "unknown" });
  tell({ event_type: "action_finished", outcome: "succeeded" });
  const [slot] = charts.tell().slots;
  assert.deepEqual([slot?.at, slot?.unknown, slot?.succeeded], ["2026-01-01T00:00:00.000Z", 1, 1]);
});

test("a time that is none is left out, and denials are told by when they were", () => {
  const charts = startCharts();
  const deny = (occurred_at: string, code: string): void => {
    const place = { segment: 1, frame: 1, index: 0, journal: "activity" } as const;
    const event = { event_id: "evt_1", occurred_at, sequence: 1, event_type: "call_denied", code };
    charts.add({ kind: "record", ...place, event: event as unknown as AuditEvent });
  };
  deny("no time at all", "not_found");
  deny("2026-01-01T00:07:00.000Z", "not_found");
  deny("2026-01-01T00:08:00.000Z", "not_found");
  deny("2026-03-01T00:00:00.000Z", "not_found");
  const { slots, denials } = charts.tell();
  assert.equal(slots.length, 2);
  assert.deepEqual(denials, [
    { at: "2026-01-01T00:00:00.000Z", code: "not_found", count: 2 },
    { at: "2026-03-01T00:00:00.000Z", code: "not_found", count: 1 },
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEvent } from "../../audit/event.ts";
import type { ActivityEntry } from "../../audit/journals/activity-entry.ts";
import { startBeside } from "./beside.ts";

const place = { kind: "record", segment: 1, frame: 1, index: 0, journal: "activity" } as const;
const eventOf = (event: object) => ({ ...place, event: event as AuditEvent });
const kept = (digest: string, text: string) =>
  eventOf({ event_type: "content_kept", digest, part: 0, parts: 1, text: JSON.stringify({ text }) });
const entryOf = (names: object) => names as ActivityEntry;

test("kept texts are let go by what is held of them, although lower case is longer than what was kept", () => {
  const beside = startBeside(1_000);
  // Lower case makes two of each of these.
  for (let count = 0; count < 3; count++) beside.add(kept(`d${count}`, "\u0130".repeat(200)));
  assert.equal(beside.isWhole(), false);
  beside.add(eventOf({ event_type: "intent_accepted", attempt_id: "evt_0", kept_digest: "d0" }));
  beside.add(eventOf({ event_type: "intent_accepted", attempt_id: "evt_2", kept_digest: "d2" }));
  const says = beside.saying("\u0130".toLowerCase());
  assert.deepEqual(
    ["evt_0", "evt_2"].map((attempt_id) => says(entryOf({ attempt_id }))),
    [false, true],
  );
});

test("a session's card is looked through once, however many calls stand behind it", (context) => {
  const beside = startBeside();
  beside.add(kept("card", "Say \u201Chello\u201D to \\ Ada"));
  beside.add(eventOf({ event_type: "approval_requested", run_id: "run_1", card_digest: "card" }));
  const { mock } = context.mock.method(String.prototype, "includes");
  const says = beside.saying("to \\ ada");
  const calls = Array.from({ length: 50 }, (_, number) => entryOf({ attempt_id: `evt_${number}`, run_id: "run_1" }));
  assert.ok(calls.every(says));
  assert.equal(says(entryOf({ attempt_id: "evt_0", run_id: "run_2" })), false);
  const looked = mock.callCount();
  mock.restore();
  assert.equal(looked, 1);
});

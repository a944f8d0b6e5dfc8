import assert from "node:assert/strict";
import { test } from "node:test";
import { countToday, usedUp } from "./day.ts";

const NOON = Date.parse("2026-11-15T12:00:00Z");
const DAY_MS = 86_400_000;

test("a count lasts for a UTC day, and the next begins with nothing", () => {
  const counted = { ...countToday(null, NOON), used: 7 };
  assert.deepEqual(counted, { day: "2026-11-15", used: 7 });
  assert.deepEqual(countToday(counted, Date.parse("2026-11-15T23:59:59.999Z")), counted);
  assert.deepEqual(countToday(counted, Date.parse("2026-11-16T00:00:00Z")), { day: "2026-11-16", used: 0 });
});

test("a clock that was set back gives no day again", () => {
  const counted = { ...countToday(null, NOON), used: 7 };
  assert.deepEqual(countToday(counted, NOON - DAY_MS), counted);
});

test("what cannot be read is a day used up, and the next is a new one", () => {
  const spent = usedUp(NOON);
  assert.equal(countToday(spent, NOON).used, Number.MAX_SAFE_INTEGER);
  assert.equal(countToday(spent, NOON + DAY_MS).used, 0);
});

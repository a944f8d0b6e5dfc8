import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateStore } from "../ports.ts";
import { createDaySpend } from "./day-spend.ts";

const DAY_MS = 86_400_000;
const NOON = Date.parse("2026-11-18T12:00:00.000Z");

const storeOf = (...rows: readonly object[]): StateStore => ({ load: () => rows }) as unknown as StateStore;
const row = (day: unknown, cents: unknown) => ({ id: "day_spend", body: { day, cents } });

test("what a day spent is counted together, never below nothing, and begins anew with the next day alone", () => {
  let wallMs = NOON;
  const spend = createDaySpend({ wallMs: () => wallMs });
  spend.add(30);
  spend.giveBack(10, spend.today());
  assert.equal(spend.spentCents(), 20);
  spend.giveBack(50, spend.today());
  assert.equal(spend.spentCents(), 0, "what is given back twice is no credit");
  spend.add(5);
  wallMs -= DAY_MS;
  assert.equal(spend.spentCents(), 5, "a clock that goes back begins no day");
  wallMs += 2 * DAY_MS;
  assert.equal(spend.spentCents(), 0);
  spend.add(30);
  spend.giveBack(10, "2026-11-18");
  assert.equal(spend.spentCents(), 30, "what another day had is not this one's");
});

test("what is not charged after all is given back to the day that it was reserved on, and to no other", () => {
  let wallMs = NOON;
  const spend = createDaySpend({ wallMs: () => wallMs });
  spend.add(30);
  spend.giveBack(10, "2026-11-18");
  assert.equal(spend.spentCents(), 20);
  spend.giveBack(10, "2026-11-17");
  assert.equal(spend.spentCents(), 20, "that day is over");
  spend.giveBack(10, "");
  assert.equal(spend.spentCents(), 20, "nobody knows which day that was");
  spend.giveBack(50, "2026-11-18");
  assert.equal(spend.spentCents(), 0, "it is no credit");
  wallMs += DAY_MS;
  spend.add(30);
  spend.giveBack(10, "2026-11-18");
  assert.deepEqual(spend.rows()[0]?.body, { day: "2026-11-19", cents: 30 });
});

test("what an earlier process spent counts on, the most of what is told, and a row that was changed counts as all of it", () => {
  const load = (...rows: readonly object[]): number => {
    const spend = createDaySpend({ wallMs: () => NOON });
    spend.load(storeOf(...rows));
    return spend.spentCents();
  };
  assert.equal(load(row("2026-11-18", 40)), 40);
  assert.equal(load(row("2026-11-18", 40), row("2026-11-18", 7)), 40);
  assert.equal(load(row("2026-11-18", 7), row("2026-11-18", 40)), 40, "in whichever order");
  assert.equal(load(row("2026-11-18", 40), row("2026-11-17", 90)), 40, "of a day that is over");
  assert.equal(load(row("2026-11-17", 40)), 0);
  assert.equal(load(row(7, 40), row("2026-11-18", "40")), 0, "what is no count is none");
  assert.equal(load(row("2026-11-18", 0)), 0);
  assert.ok(load({ tampered: "day_spend" }) >= Number.MAX_SAFE_INTEGER);
  assert.ok(load({ tampered: "day_spend" }, row("2026-11-18", 1)) >= Number.MAX_SAFE_INTEGER);
  assert.deepEqual(createDaySpend({ wallMs: () => NOON }).rows()[0]?.body, { day: "2026-11-18", cents: 0 });
});

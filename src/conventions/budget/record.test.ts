import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunId } from "../../kernel/ids.ts";
import { openBudget, type RunBudget, type RunLimits } from "./budget.ts";
import { STANDARD_CEILINGS, spentCents, withinCeilings } from "./ceilings.ts";
import type { Reservation } from "./decide.ts";
import { budgetRecord, type CostRecord, costRecord, limitsRecord, readLimits } from "./record.ts";
import { holdReserve, type Settlement, settleReservation, takeOver } from "./settle.ts";

const limits: RunLimits = { attempts: 5, sideEffects: 2, durationMs: 61_500, spendCents: 900 };
const opened = openBudget("run_1" as RunId, limits, { bootId: "boot", bootMs: 0, wallMs: 0 });
const day = "2026-11-18";
const reservation: Reservation = { maximumCents: 300, sideEffect: true, attempt: 1, day };

test("what a call cost is what the provider said, the ceiling where it did not, nothing where nothing left, and open while nobody knows", () => {
  const rows: readonly (readonly [Settlement | null, Omit<CostRecord, "reserved_cents">])[] = [
    [null, { charged_cents: null, basis: "held", overage_cents: 0 }],
    [{ kind: "released" }, { charged_cents: 0, basis: "released", overage_cents: 0 }],
    [{ kind: "assumed" }, { charged_cents: 300, basis: "assumed", overage_cents: 0 }],
    [
      { kind: "charged", cents: 120 },
      { charged_cents: 120, basis: "stated", overage_cents: 0 },
    ],
    [
      { kind: "charged", cents: 420 },
      { charged_cents: 420, basis: "stated", overage_cents: 120 },
    ],
  ];
  for (const [settlement, cost] of rows)
    assert.deepEqual(costRecord(reservation, settlement), { reserved_cents: 300, ...cost });
});

test("whatever a run asks for, each of its ceilings is the narrower one", () => {
  const { attempts, sideEffects, durationMs, spendCents } = STANDARD_CEILINGS;
  const standard = { attempts, sideEffects, durationMs, spendCents };
  const most = { attempts: 1e9, sideEffects: 1e9, durationMs: 1e12, spendCents: 1e12 };
  assert.deepEqual(withinCeilings(most, STANDARD_CEILINGS), standard);
  assert.deepEqual(withinCeilings(limits, { ...most, daySpendCents: 0 }), limits);
});

test("one call has one charge: its next send takes over what the one before holds, or was charged", () => {
  const held: RunBudget = { ...opened, reservedSpendCents: 300, settledSpendCents: 500 };
  const both = ({ reservedSpendCents, settledSpendCents }: RunBudget) => [reservedSpendCents, settledSpendCents];
  assert.deepEqual(both(takeOver(held, { maximumCents: 300, day })), [0, 500]);
  assert.deepEqual(both(takeOver(held, { maximumCents: 300, day, spent: true })), [300, 200]);
  assert.deepEqual(both(holdReserve(held, 100)), [400, 500]);
  assert.deepEqual(both(settleReservation(held, reservation, { kind: "charged", cents: 20 })), [0, 520]);
  assert.equal(spentCents(held), 800);
});

test("what is left is never less than nothing, and an exact charge is no overage", () => {
  const over: RunBudget = { ...opened, attemptsUsed: 9, sideEffectAttempts: 9, settledSpendCents: 1_000 };
  const { attempts_remaining, side_effects_remaining, spend_remaining_cents } = budgetRecord(over);
  assert.deepEqual([attempts_remaining, side_effects_remaining, spend_remaining_cents], [0, 0, 0]);
  const settled = settleReservation({ ...opened, reservedSpendCents: 300 }, reservation, {
    kind: "charged",
    cents: 300,
  });
  assert.deepEqual([settled.overage, settled.stopReason], [false, null]);
});

test("limits are read over the defaults, and written in whole seconds", () => {
  assert.deepEqual(readLimits({}, limits), limits);
  const given = { attempts: 1, side_effects: 0, duration_seconds: 7, spend_cents: 0 };
  assert.deepEqual(readLimits(given, limits), { attempts: 1, sideEffects: 0, durationMs: 7_000, spendCents: 0 });
  assert.deepEqual(limitsRecord(limits), { attempts: 5, side_effects: 2, duration_seconds: 61, spend_cents: 900 });
});

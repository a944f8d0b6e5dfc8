import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RunId } from "../../kernel/ids.ts";
import {
  attemptsRemaining,
  narrowBudget,
  openBudget,
  type RunBudget,
  spendRemainingCents,
  timeLeftMs,
} from "./budget.ts";
import { decideReservation, type Reservation, type ReservationAsk } from "./decide.ts";
import { budgetRecord, limitsRecord, readLimits } from "./record.ts";
import { settleReservation } from "./settle.ts";

const runId = "run_1" as RunId;
const limits = { attempts: 3, sideEffects: 1, durationMs: 10_000, spendCents: 100 };
const start = { wallMs: 1_700_000_000_000, bootMs: 5_000, bootId: "boot-a" };
const day = "2023-11-14";
const read: ReservationAsk = { sideEffect: false, maximumCents: 0, capMs: 2_000, minimumMs: 10, day };

function reserve(budget: RunBudget, ask: ReservationAsk, now = start): { budget: RunBudget; reservation: Reservation } {
  const decided = decideReservation(budget, ask, now);
  assert.equal(decided.decision, "allow");
  return decided.decision === "allow" ? decided : assert.fail();
}

test("attempts are counted, not successes", () => {
  let budget = openBudget(runId, limits, start);
  for (let attempt = 1; attempt <= 3; attempt++) {
    const taken = reserve(budget, read);
    assert.equal(taken.reservation.attempt, attempt);
    budget = settleReservation(taken.budget, taken.reservation, { kind: "released" });
  }
  assert.equal(attemptsRemaining(budget), 0);
  const refused = decideReservation(budget, read, start);
  assert.equal(refused.decision, "attempts_exhausted");
  assert.equal(refused.budget.stopReason, "attempts_exhausted");
});

test("side-effect attempts are counted apart from reads", () => {
  const write = { ...read, sideEffect: true };
  const { budget } = reserve(openBudget(runId, limits, start), write);
  assert.equal(budget.sideEffectAttempts, 1);
  assert.equal(decideReservation(budget, write, start).decision, "side_effects_exhausted");
  assert.equal(decideReservation(budget, read, start).decision, "allow");
});

test("expiry is computed from a monotonic elapsed timer, and wall time decides nothing", () => {
  const budget = openBudget(runId, limits, start);
  const jumped = { ...start, wallMs: start.wallMs + 86_400_000, bootMs: start.bootMs + 1 };
  assert.equal(decideReservation(budget, read, jumped).decision, "allow");
  const late = { ...start, bootMs: start.bootMs + 10_000 };
  assert.equal(decideReservation(budget, read, late).decision, "run_deadline_exhausted");
});

test("another boot ends the run", () => {
  const budget = openBudget(runId, limits, start);
  const reboot = { ...start, bootMs: 0, bootId: "boot-b" };
  assert.equal(timeLeftMs(budget, reboot), 0);
  assert.equal(decideReservation(budget, read, reboot).decision, "run_deadline_exhausted");
});

test("a request that would exceed the remaining time is not started", () => {
  const budget = openBudget(runId, limits, start);
  const nearEnd = { ...start, bootMs: start.bootMs + 9_995 };
  assert.equal(decideReservation(budget, read, nearEnd).decision, "run_deadline_exhausted");
});

test("each operation receives the smaller of its own cap and the remaining run time", () => {
  const budget = openBudget(runId, limits, start);
  const early = decideReservation(budget, read, start);
  const late = decideReservation(budget, read, { ...start, bootMs: start.bootMs + 9_000 });
  assert.equal(early.decision === "allow" && early.timeoutMs, 2_000);
  assert.equal(late.decision === "allow" && late.timeoutMs, 1_000);
});

test("a reservation that does not fit blocks the call", () => {
  const pays = { ...read, maximumCents: 60 };
  const { budget } = reserve(openBudget(runId, limits, start), pays);
  assert.equal(spendRemainingCents(budget), 40);
  assert.equal(decideReservation(budget, pays, start).decision, "spend_exhausted");
  assert.equal(decideReservation(budget, read, start).decision, "allow");
});

test("what fits to the last cent and the last millisecond is allowed, and one more is not", () => {
  const budget = openBudget(runId, limits, start);
  const decide = (ask: Partial<ReservationAsk>, atMs = 0): string =>
    decideReservation(budget, { ...read, ...ask }, { ...start, bootMs: start.bootMs + atMs }).decision;
  assert.equal(decide({ maximumCents: 100 }), "allow");
  assert.equal(decide({ maximumCents: 101 }), "spend_exhausted");
  assert.equal(decide({ maximumCents: 40, dayLeftCents: 40 }), "allow");
  assert.equal(decide({ maximumCents: 41, dayLeftCents: 40 }), "day_spend_exhausted");
  assert.equal(decide({ maximumCents: 1, dayLeftCents: 0 }), "day_spend_exhausted");
  assert.equal(decide({ maximumCents: 0, dayLeftCents: -5 }), "allow", "what costs nothing needs nothing of the day");
  assert.equal(decide({ minimumMs: 10 }, limits.durationMs - 10), "allow");
  assert.equal(decide({ minimumMs: 10 }, limits.durationMs - 9), "run_deadline_exhausted");
  assert.equal(decide({ minimumMs: 0 }, limits.durationMs - 1), "allow");
  assert.equal(decide({ minimumMs: 0 }, limits.durationMs), "run_deadline_exhausted");
  assert.equal(timeLeftMs(budget, { ...start, bootMs: start.bootMs + limits.durationMs + 5 }), 0);
});

test("an overage is recorded and halts further spend", () => {
  const pays = { ...read, maximumCents: 10 };
  const taken = reserve(openBudget(runId, limits, start), pays);
  const budget = settleReservation(taken.budget, taken.reservation, { kind: "charged", cents: 11 });
  assert.equal(budget.settledSpendCents, 11);
  assert.equal(budget.stopReason, "spend_overage");
  assert.equal(decideReservation(budget, pays, start).decision, "spend_overage");
  assert.equal(decideReservation(budget, read, start).decision, "allow");
});

test("an overage halts further spend even when another limit stopped the run before", () => {
  const pays = { ...read, maximumCents: 10, sideEffect: true };
  const taken = reserve(openBudget(runId, limits, start), pays);
  const stopped = decideReservation(taken.budget, pays, start);
  const budget = settleReservation(stopped.budget, taken.reservation, { kind: "charged", cents: 11 });
  assert.equal(budget.stopReason, "side_effects_exhausted");
  assert.equal(decideReservation(budget, { ...read, maximumCents: 1 }, start).decision, "spend_overage");
});

test("the stop reason is the first limit that stopped further work", () => {
  const tight = { ...limits, attempts: 1 };
  const { budget } = reserve(openBudget(runId, tight, start), read);
  const first = decideReservation(budget, read, start);
  const second = decideReservation(first.budget, read, { ...start, bootMs: start.bootMs + 20_000 });
  assert.equal(second.decision, "run_deadline_exhausted");
  assert.equal(second.budget.stopReason, "attempts_exhausted");
});

test("a person narrows a run and never widens it", () => {
  const budget = openBudget(runId, limits, start);
  const narrowed = narrowBudget(budget, { attempts: 99, sideEffects: 0, durationMs: 4_000, spendCents: 50 });
  assert.deepEqual(narrowed.limits, { attempts: 3, sideEffects: 0, durationMs: 4_000, spendCents: 50 });
  assert.equal(timeLeftMs(narrowed, start), 4_000);
  assert.equal(Date.parse(narrowed.deadlineAt), start.wallMs + 4_000);
});

test("the record carries the specified fields", () => {
  const record = budgetRecord(openBudget(runId, limits, start));
  assert.deepEqual(record, {
    run_id: "run_1",
    attempts_used: 0,
    attempts_remaining: 3,
    deadline_at: new Date(start.wallMs + 10_000).toISOString(),
    reserved_spend: 0,
    settled_spend: 0,
    spend_remaining_cents: 100,
    side_effect_attempts: 0,
    side_effects_remaining: 1,
    budget_stop_reason: null,
  });
  assert.deepEqual(readLimits(limitsRecord(limits), limits), limits);
  assert.deepEqual(readLimits({ attempts: 1 }, limits), { ...limits, attempts: 1 });
});

test("no sequence of reservations and settlements overspends a ceiling", () => {
  const step = fc.record({
    sideEffect: fc.boolean(),
    maximumCents: fc.integer({ min: 0, max: 60 }),
    settle: fc.constantFrom("released", "charged", "assumed", "held"),
    share: fc.integer({ min: 0, max: 100 }),
    elapse: fc.integer({ min: 0, max: 4_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let budget = openBudget(runId, { attempts: 10, sideEffects: 4, durationMs: 10_000, spendCents: 100 }, start);
      let bootMs = start.bootMs;
      let allowed = 0;
      let sideEffects = 0;
      for (const { sideEffect, maximumCents, settle, share, elapse } of steps) {
        bootMs += elapse;
        const decided = decideReservation(budget, { ...read, sideEffect, maximumCents }, { ...start, bootMs });
        budget = decided.budget;
        if (decided.decision !== "allow") continue;
        assert.ok(bootMs < start.bootMs + 10_000);
        allowed++;
        if (sideEffect) sideEffects++;
        if (settle === "charged") {
          const cents = Math.floor((maximumCents * share) / 100);
          budget = settleReservation(budget, decided.reservation, { kind: "charged", cents });
        } else if (settle !== "held") {
          budget = settleReservation(budget, decided.reservation, { kind: settle });
        }
        assert.ok(budget.reservedSpendCents + budget.settledSpendCents <= 100);
        assert.ok(budget.reservedSpendCents >= 0);
      }
      assert.ok(allowed <= 10 && budget.attemptsUsed === allowed);
      assert.ok(sideEffects <= 4 && budget.sideEffectAttempts === sideEffects);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isSettled, type OperationState, operationStates } from "../operation/state.ts";
import { stepOperation } from "../operation/transition.ts";
import { decideHint, type HintedOperation } from "./hint.ts";

const GAP_MS = 2_000;
const idle: HintedOperation = {
  state: "observing",
  stopped: false,
  reading: false,
  nextPollMs: 60_000,
  hintMs: null,
  lastReadMs: null,
  readsLeft: 6,
};
const decide = (change: Partial<HintedOperation>, nowMs = 10_000) => decideHint({ ...idle, ...change }, nowMs, GAP_MS);

test("a callback brings one read forward, not closer to the last than the gap", () => {
  assert.deepEqual(decide({}), { kind: "read_scheduled", atMs: 10_000 });
  assert.deepEqual(decide({ lastReadMs: 9_000 }), { kind: "read_scheduled", atMs: 11_000 });
  assert.deepEqual(decide({ lastReadMs: 1_000 }), { kind: "read_scheduled", atMs: 10_000 });
});

test("callbacks that come while a read is due anyway are joined to it", () => {
  assert.equal(decide({ nextPollMs: 10_000 }).kind, "read_joined");
  assert.equal(decide({ nextPollMs: 10_500, lastReadMs: 9_000 }).kind, "read_joined");
  assert.equal(decide({ hintMs: 11_000 }).kind, "read_joined");
});

test("a read under way may have seen the state before: another follows it", () => {
  assert.deepEqual(decide({ reading: true, nextPollMs: 9_000 }), { kind: "read_scheduled", atMs: 12_000 });
});

test("what is settled, stopped or used up is not touched", () => {
  for (const state of operationStates.filter(isSettled)) assert.equal(decide({ state }).kind, "operation_settled");
  assert.equal(decide({ stopped: true }).kind, "operation_stopped");
  assert.equal(decide({ readsLeft: 0 }).kind, "allowance_used");
});

/** A provider's job over time: what it would answer, from when on. */
interface Timeline {
  readonly endsAtMs: number;
  readonly end: "succeeded" | "failed" | "cancelled";
}

const TRIGGER = { succeeded: "remote_succeeded", failed: "remote_failed", cancelled: "remote_cancelled" } as const;

/** A worker over the pure rules: polls on a doubling schedule, takes hints as the gateway does, and reads. */
function observe(job: Timeline, callbacksMs: readonly number[], checks: number, hints: number) {
  let now = { state: "observing" as OperationState, remoteJobId: "job-1" };
  const reads: number[] = [];
  let [nextPollMs, hintMs, lastReadMs, readsLeft, delayMs] = [
    2_000,
    null as number | null,
    null as number | null,
    hints,
    2_000,
  ];
  const take = (trigger: Parameters<typeof stepOperation>[1], at: number): void => {
    const step = stepOperation(now, trigger, String(at), "worker");
    if (step.kind === "moved") now = { state: step.to, remoteJobId: step.remoteJobId ?? "" };
  };
  let scheduled = 0;
  const waiting = [...callbacksMs].sort((a, b) => a - b);
  while (!isSettled(now.state) && scheduled < checks) {
    const due = hintMs === null ? nextPollMs : Math.min(nextPollMs, hintMs);
    const callbackMs = waiting[0];
    if (callbackMs !== undefined && callbackMs <= due) {
      waiting.shift();
      const hint = decideHint(
        { ...idle, state: now.state, nextPollMs, hintMs, lastReadMs, readsLeft },
        callbackMs,
        GAP_MS,
      );
      if (hint.kind === "read_scheduled") hintMs = hint.atMs;
      continue;
    }
    const beside = due < nextPollMs;
    if (hintMs !== null && hintMs <= due) hintMs = null;
    if (beside) readsLeft--;
    else {
      scheduled++;
      delayMs = Math.min(delayMs * 2, 30_000);
      nextPollMs = due + delayMs;
    }
    reads.push(due);
    lastReadMs = due;
    if (due >= job.endsAtMs) {
      const report = { remoteJobId: "job-1", remoteState: job.end };
      take({ kind: TRIGGER[job.end], ...report }, due);
      take({ kind: "result_fetched", remoteJobId: "job-1", resultDigest: "sha256:00" }, due);
    }
  }
  return { record: now, reads, scheduled };
}

test("any order, repetition or loss of callbacks leads to the same record as none", () => {
  const timeline = fc.record({
    endsAtMs: fc.nat({ max: 400_000 }),
    end: fc.constantFrom("succeeded" as const, "failed" as const, "cancelled" as const),
  });
  fc.assert(
    fc.property(timeline, fc.array(fc.nat({ max: 500_000 }), { maxLength: 60 }), (job, callbacks) => {
      const without = observe(job, [], 30, 6);
      const with_ = observe(job, callbacks, 30, 6);
      assert.deepEqual(with_.record, without.record);
      assert.ok(isSettled(with_.record.state));
      const repeated = observe(job, [...callbacks, ...callbacks], 30, 6);
      assert.deepEqual(repeated.record, without.record);
    }),
    { numRuns: 300 },
  );
});

test("no flood of callbacks takes more reads than the allowance, nor any from the schedule, nor closer than the gap", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 300_000 }), { minLength: 100, maxLength: 300 }), (callbacks) => {
      const job = { endsAtMs: Number.POSITIVE_INFINITY, end: "succeeded" } as const;
      const without = observe(job, [], 12, 6);
      const flooded = observe(job, callbacks, 12, 6);
      assert.equal(flooded.scheduled, without.scheduled, "the schedule keeps all of its own");
      assert.ok(flooded.reads.length <= without.reads.length + 6);
      assert.equal(flooded.record.state, "observing", "a callback alone moves nothing");
      const besides = flooded.reads.filter((at) => !without.reads.includes(at));
      for (const at of besides) {
        const before = flooded.reads.filter((one) => one < at).at(-1);
        if (before !== undefined) assert.ok(at - before >= GAP_MS);
      }
    }),
    { numRuns: 100 },
  );
});

test("a callback after the end makes the end known sooner", () => {
  const job = { endsAtMs: 20_000, end: "succeeded" } as const;
  const sooner = observe(job, [20_000], 30, 6).reads.at(-1) ?? 0;
  assert.ok(sooner < (observe(job, [], 30, 6).reads.at(-1) ?? 0));
});

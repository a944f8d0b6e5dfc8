import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { advanceJob, isFinal, type Job, type JobState } from "./advance.ts";

const job: Job = {
  state: "queued",
  fails: false,
  startedAtMs: 1_000,
  durationMs: 1_000,
  cancelAtMs: null,
  cancelIgnored: false,
};
const stateAt = (at: number, changes: Partial<Job> = {}) => advanceJob({ ...job, ...changes }, at).state;

test("work is queued, runs, and ends as it was meant to", () => {
  assert.deepEqual(
    [1_000, 1_099, 1_100, 1_999, 2_000].map((at) => stateAt(at)),
    ["queued", "queued", "running", "running", "succeeded"],
  );
  assert.equal(stateAt(2_000, { fails: true }), "failed");
});

test("progress is full before the end, on purpose", () => {
  const full = advanceJob(job, 1_700);
  assert.deepEqual([full.state, full.completed, full.dueAtMs], ["running", 100, 2_000]);
});

test("an early cancellation ends in cancelled, a late one as the work would have ended", () => {
  assert.equal(stateAt(1_300, { cancelAtMs: 1_200 }), "cancelling");
  assert.equal(stateAt(1_400, { cancelAtMs: 1_200 }), "cancelled");
  assert.equal(stateAt(1_999, { cancelAtMs: 1_800 }), "cancelling");
  assert.equal(stateAt(2_000, { cancelAtMs: 1_800 }), "succeeded");
  assert.equal(stateAt(2_000, { cancelAtMs: 1_800, fails: true }), "failed");
  assert.equal(stateAt(2_000, { cancelAtMs: 1_200, cancelIgnored: true }), "succeeded");
});

test("work that takes no time is done when it starts", () => {
  assert.deepEqual(advanceJob({ ...job, durationMs: 0 }, 1_000), { state: "succeeded", completed: 100, dueAtMs: null });
});

test("over any time line: states only go forward, progress never falls, an end is an end, and the next change is told", () => {
  const order: readonly JobState[] = ["queued", "running", "cancelling", "succeeded", "failed", "cancelled"];
  fc.assert(
    fc.property(
      fc.record({
        duration: fc.integer({ min: 1, max: 10_000 }),
        cancel: fc.option(fc.integer({ min: 0, max: 12_000 })),
        fails: fc.boolean(),
        ignored: fc.boolean(),
      }),
      fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 2, maxLength: 20 }),
      ({ duration, cancel, fails, ignored }, looks) => {
        let before: { readonly state: JobState; readonly completed: number } = { state: "queued", completed: 0 };
        for (const look of looks.sort((a, b) => a - b)) {
          // A cancellation is known from its moment on, and only while nothing has ended.
          const known = cancel !== null && look >= cancel && cancel < duration ? 1_000 + cancel : null;
          const now = advanceJob(
            { ...job, durationMs: duration, fails, cancelAtMs: known, cancelIgnored: ignored },
            1_000 + look,
          );
          assert.ok(order.indexOf(now.state) >= order.indexOf(before.state), `${before.state} -> ${now.state}`);
          assert.ok(now.completed >= before.completed && now.completed <= 100);
          assert.equal(now.dueAtMs === null, isFinal(now.state));
          if (isFinal(before.state)) assert.equal(now.state, before.state);
          if (now.dueAtMs !== null) assert.ok(now.dueAtMs > 1_000 + look);
          before = now;
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

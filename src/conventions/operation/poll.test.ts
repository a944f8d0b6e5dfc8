import assert from "node:assert/strict";
import { test } from "node:test";
import { pollDelayMs } from "./poll.ts";

const schedule = { firstMs: 1_000, capMs: 30_000, jitter: 0.2 };

test("the wait before a read doubles up to its cap, is jittered to both sides, and is the provider's own where it names one", () => {
  const middle = [0, 1, 2, 4, 5, 100].map((checks) => pollDelayMs(schedule, checks, null, 0.5));
  assert.deepEqual(middle, [1_000, 2_000, 4_000, 16_000, 30_000, 30_000]);
  assert.equal(pollDelayMs(schedule, 0, null, 0), 800);
  assert.equal(pollDelayMs(schedule, 0, null, 1), 1_200);
  assert.equal(pollDelayMs(schedule, 0, 7, 0), 7);
  assert.equal(pollDelayMs(schedule, 5, 0, 0), 0);
});

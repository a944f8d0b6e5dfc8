import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readPreferredWaitMs } from "./prefer.ts";

test("a call waits for its person as long as it prefers", () => {
  assert.equal(readPreferredWaitMs("wait=5"), 5_000);
  assert.equal(readPreferredWaitMs("respond-async, wait=10; x"), 10_000);
  assert.equal(readPreferredWaitMs("WAIT = 3"), 3_000);
});

test("the wait is bounded, and anything else means no wait", () => {
  assert.equal(readPreferredWaitMs("wait=999999"), 600_000);
  for (const text of [
    undefined,
    "",
    "wait",
    "wait=",
    "wait=-1",
    "wait=1e3",
    "wait=1.5",
    "wait=9999999",
    "x".repeat(300),
  ]) {
    assert.equal(readPreferredWaitMs(text), 0, text);
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const waitMs = readPreferredWaitMs(text);
      return waitMs >= 0 && waitMs <= 600_000;
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { readBridgeOptions } from "./bridge.ts";

test("a bridge that asks for nothing gets the defaults", () => {
  const options = readBridgeOptions(undefined);
  assert.equal(options.actions, null);
  assert.equal(options.waitMs, defaults.mcpWaitMs);
  assert.equal(options.limits.attempts, defaults.runAttempts);
});

test("a bridge says what its runs ask for", () => {
  const options = readBridgeOptions(
    '{"actions":["acme.*"],"budget":{"attempts":7,"duration_seconds":60},"wait_seconds":2}',
  );
  assert.deepEqual(options.actions, ["acme.*"]);
  assert.deepEqual([options.limits.attempts, options.limits.durationMs, options.waitMs], [7, 60_000, 2_000]);
  assert.equal(options.limits.sideEffects, defaults.runSideEffects);
});

test("what does not fit is refused, and nobody waits longer than clients do", () => {
  for (const header of [
    "",
    "x",
    "[]",
    '{"actions":[]}',
    '{"purpose":"mine"}',
    '{"wait_seconds":46}',
    '{"wait_seconds":0}',
    '{"budget":{"attempts":1e9}}',
    '{"budget":{"attempts":1,"attempts":2}}',
    '{}, {"actions":["a.b"]}',
  ]) {
    assert.throws(() => readBridgeOptions(header), Denied, header);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../src/kernel/defaults.ts";
import { waitFor } from "../src/surfaces/mcp/wait.ts";
import { manualTime } from "./support/clock.ts";

function start(waitMs: number, progress: ((step: number) => void) | null = null) {
  const time = manualTime();
  const stop = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const waited = waitFor(promise, { waitMs, sleep: time.sleep, signal: stop.signal, progress });
  waited.catch(() => undefined);
  return { time, stop, resolve, reject, waited };
}

test("what settles in time is given, and a refusal is thrown", async () => {
  const good = start(1_000);
  good.resolve("done");
  assert.deepEqual(await good.waited, { kind: "settled", value: "done" });
  const bad = start(1_000);
  bad.reject(new Error("no"));
  await assert.rejects(bad.waited, /no/);
});

test("what takes longer is late, with progress on the way", async () => {
  const steps: number[] = [];
  const { time, waited } = start(3 * defaults.mcpProgressMs, (step) => steps.push(step));
  await time.advance(3 * defaults.mcpProgressMs);
  assert.deepEqual(await waited, { kind: "late" });
  assert.deepEqual(steps, [1, 2]);
});

test("without a token nobody is told, and the wait is as long", async () => {
  const { time, waited } = start(1_000);
  let over = false;
  void waited.then(() => {
    over = true;
  });
  await time.advance(999);
  assert.equal(over, false);
  await time.advance(1);
  assert.deepEqual(await waited, { kind: "late" });
});

test("whoever leaves does not wait, and a later refusal is nobody's", async () => {
  const { stop, waited, reject } = start(1_000);
  stop.abort();
  assert.deepEqual(await waited, { kind: "left" });
  reject(new Error("later"));
  await new Promise((resolve) => setImmediate(resolve));
});

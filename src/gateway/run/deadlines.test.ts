import assert from "node:assert/strict";
import { test } from "node:test";
import { openBudget } from "../../conventions/budget/budget.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { RunId } from "../../kernel/ids.ts";
import { now } from "../core.ts";
import { createDeadlines } from "./deadlines.ts";
import type { RunNeeds } from "./needs.ts";
import type { Run } from "./run.ts";

/** Runs whose ends are far away, time that is moved by hand, and how often somebody went to sleep until the next look. */
function stand() {
  let bootMs = 1_000;
  const open: Run[] = [];
  const seen = { naps: 0, asleep: new Map<() => void, number>() };
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => {
    seen.naps++;
    return new Promise((resolve) => {
      const wake = (): void => {
        seen.asleep.delete(wake);
        resolve();
      };
      seen.asleep.set(wake, bootMs + ms);
      signal.addEventListener("abort", wake);
    });
  };
  const clock = { wallMs: () => bootMs, bootMs: () => bootMs, bootId: () => "boot-1" };
  const core = { ports: { clock, sleep: { sleep } }, book: { openRuns: () => open } } as unknown as RunNeeds;
  const { watch } = createDeadlines(core);
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    open,
    seen,
    async add(durationMs: number): Promise<number> {
      const limits = { attempts: 1, sideEffects: 0, spendCents: 0, durationMs };
      const run = { budget: openBudget(`run_${open.length}` as RunId, limits, now(core)) } as Run;
      open.push(run);
      watch(run);
      await settle();
      return seen.naps;
    },
    async pass(ms: number): Promise<void> {
      bootMs += ms;
      for (const [wake, atMs] of [...seen.asleep]) if (atMs <= bootMs) wake();
      await settle();
    },
  };
}

test("one timer serves all runs, and a run wakes it only where its end is nearer than the next look", async () => {
  const { open, seen, add, pass } = stand();
  const { expiryLookMs } = defaults;
  assert.equal(await add(60_000), 1);
  assert.equal(await add(50_000), 1);
  assert.equal(await add(expiryLookMs), 1, "it looks then anyway");
  assert.equal(await add(expiryLookMs - 1), 2);
  assert.equal(seen.asleep.size, 1);
  open.length = 1;
  await pass(expiryLookMs - 1);
  await pass(expiryLookMs);
  assert.deepEqual([seen.naps, seen.asleep.size], [4, 1]);
  open.length = 0;
  await pass(expiryLookMs);
  assert.deepEqual([seen.naps, seen.asleep.size], [4, 0], "nobody looks where no run is open");
  assert.equal(await add(60_000), 5, "and somebody does now");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Counted, createFloodGate } from "./flood-gate.ts";

/** Time stands until `second` is called, which lets one pass for whoever sleeps. */
function standingTime() {
  const sleepers: (() => void)[] = [];
  let nowMs = 0;
  return {
    clock: { wallMs: () => 1_790_000_000_000 + nowMs, bootMs: () => nowMs, bootId: () => "boot" },
    sleep: { sleep: () => new Promise<void>((resolve) => sleepers.push(resolve)) },
    async second() {
      nowMs += 1_000;
      for (const wake of sleepers.splice(0)) wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("everything is told, one by one or counted, and no more often than the allowance", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.nat({ max: 3 })), { maxLength: 60 }),
      async (things) => {
        const time = standingTime();
        const told: Counted<string>[] = [];
        const gate = createFloodGate<string>(
          time,
          { burst: 3, perSecond: 1 },
          async (counted) => void told.push(...counted),
        );
        const alone = things.filter(([who, what]) => gate.pass(who, `${who} ${what}`, `${who} ${what}`));
        await time.second();
        const counted = told.reduce((sum, { count }) => sum + count, 0);
        assert.equal(alone.length + counted, things.length);
        assert.ok(alone.length <= 6);
        assert.equal(new Set(told.map(({ what }) => what)).size, told.length, "one event a kind");
      },
    ),
    { numRuns: 30 },
  );
});

test("what cannot be told any more is no trouble for whoever is refused", async () => {
  const time = standingTime();
  const gate = createFloodGate<string>(time, { burst: 1, perSecond: 0 }, () => Promise.reject(new Error("no disk")));
  assert.deepEqual([gate.pass("a", "k", "x"), gate.pass("a", "k", "x")], [true, false]);
  await time.second();
  assert.equal(gate.pass("a", "k", "x"), false);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createVolume, type Volume } from "../../conventions/budget/volume.ts";
import { type Counted, createFloodGate } from "./flood-gate.ts";

/** Time stands until `second` is called, which lets one pass for whoever sleeps. */
function standingTime(volume: Volume = { tells: () => true, asks: () => true, charge: () => undefined }) {
  let sleepers: { readonly untilMs: number; wake(): void }[] = [];
  let nowMs = 0;
  const log = { full: false };
  return {
    ...{ volume, log },
    hasRoom: () => !log.full,
    clock: { wallMs: () => 1_790_000_000_000 + nowMs, bootMs: () => nowMs, bootId: () => "boot" },
    sleep: {
      sleep: (ms: number) => new Promise<void>((wake) => void sleepers.push({ untilMs: nowMs + ms, wake })),
    },
    async second(count = 1) {
      nowMs += count * 1_000;
      const due = sleepers.filter(({ untilMs }) => untilMs <= nowMs);
      sleepers = sleepers.filter(({ untilMs }) => untilMs > nowMs);
      for (const { wake } of due) wake();
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
        const alone = things.filter(([who, what]) => gate.pass(who, `${who} ${what}`, `${who} ${what}`, who));
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
  assert.deepEqual([gate.pass("a", "k", "x", null), gate.pass("a", "k", "x", null)], [true, false]);
  await time.second();
  assert.equal(gate.pass("a", "k", "x", null), false);
});

test("whoever has used up its volume is counted once a minute, and another is told as ever", async () => {
  const still = { bootMs: () => 0, wallMs: () => 0 };
  const volume = createVolume({ bytesPerDay: 100_000, remembered: 4 }, still, () => undefined);
  const time = standingTime(volume);
  const told: Counted<string>[] = [];
  const gate = createFloodGate<string>(time, { burst: 1_000, perSecond: 0 }, async (some) => void told.push(...some));
  let alone = 0;
  while (gate.pass("a", "a", "a", "uid 1")) volume.charge("uid 1", 1_000 * ++alone);
  assert.equal(alone, 10, "within half of a day's bytes, and the one that went beyond");
  for (let more = 0; more < 9; more++) gate.pass("a", "a", "a", "uid 1");
  assert.equal(gate.pass("b", "b", "b", "uid 2"), true);
  assert.equal(gate.pass("a", "c", "c", null), true, "what a person said yes to costs nobody");
  await time.second();
  assert.deepEqual(told, []);
  await time.second(59);
  assert.deepEqual(
    told.map(({ what, count }) => [what, count]),
    [["a", 10]],
  );
});

test("on a disk that is nearly full nothing is told one by one, and counts come once a minute", async () => {
  const time = standingTime();
  const told: Counted<string>[] = [];
  const ports = { ...time, space: { low: () => true } };
  const gate = createFloodGate<string>(ports, { burst: 5, perSecond: 1 }, async (some) => void told.push(...some));
  assert.deepEqual([gate.pass("a", "k", "x", "a"), gate.pass("a", "k", "x", null)], [false, false]);
  await time.second();
  assert.equal(told.length, 0);
  await time.second(60);
  assert.equal(told[0]?.count, 2);
});

test("while the log has no room everything is counted, and told once it has", async () => {
  const time = standingTime();
  const told: Counted<string>[] = [];
  const gate = createFloodGate<string>(time, { burst: 5, perSecond: 1 }, async (some) => void told.push(...some));
  time.log.full = true;
  assert.deepEqual([gate.pass("a", "k", "x", "a"), gate.pass("a", "k", "x", null)], [false, false]);
  for (let second = 0; second < 3; second++) await time.second();
  gate.pass("b", "l", "y", "b");
  assert.deepEqual(told, []);
  time.log.full = false;
  assert.equal(gate.pass("a", "k", "x", "a"), true);
  await time.second();
  assert.deepEqual(
    told.map(({ what, count }) => [what, count]),
    [
      ["x", 2],
      ["y", 1],
    ],
  );
  await time.second();
  assert.equal(told.length, 2, "once");
});

test("however many are refused while the log has no room, only so many are counted apart, and nobody is forgotten", async () => {
  const time = standingTime();
  const told: Counted<string>[] = [];
  const limits = { burst: 5, perSecond: 1, others: () => "others" };
  const gate = createFloodGate<string>(time, limits, async (some) => void told.push(...some));
  time.log.full = true;
  for (let uid = 0; uid < 5_000; uid++) gate.pass(`${uid}`, `${uid}`, `uid ${uid}`, null);
  gate.pass("7", "7", "uid 7", null);
  time.log.full = false;
  await time.second();
  assert.deepEqual([told.length, told.reduce((sum, { count }) => sum + count, 0)], [513, 5_001]);
  assert.deepEqual([told[7]?.count, told.at(-1)?.what, told.at(-1)?.count], [2, "others", 4_488]);
});

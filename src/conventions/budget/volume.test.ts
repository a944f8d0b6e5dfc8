import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createVolume, type LastingVolume, type UsedVolume } from "./volume.ts";

const DAY_MS = 86_400_000;
const LIMITS = { bytesPerDay: 10_000, remembered: 4 };

/** One life of a gateway: the clocks as they stand, and what it keeps on its disk. */
function begin(nowMs: () => number, disk = new Map<string, UsedVolume>()): LastingVolume {
  return createVolume(LIMITS, { bootMs: nowMs, wallMs: nowMs }, (used) => disk.set(used.who, used));
}
const LARGEST = 500;

/** Whoever writes whenever they may, and waits as they like. */
const steps = fc.array(
  fc.record({
    waitMs: fc.nat({ max: 3_600_000 }),
    bytes: fc.nat({ max: LARGEST }),
    asks: fc.boolean(),
    ends: fc.boolean(),
  }),
  { maxLength: 400 },
);

test("nobody has more written than a day's bytes at once and as many again a day, however they wait and however often the gateway starts anew", () => {
  fc.assert(
    fc.property(steps, (all) => {
      let nowMs = 0;
      let written = 0;
      const disk = new Map<string, UsedVolume>();
      let volume = begin(() => nowMs, disk);
      volume.recall([]);
      for (const { waitMs, bytes, asks, ends } of all) {
        nowMs += waitMs;
        if (ends) {
          volume = begin(() => nowMs, disk);
          volume.recall([...disk.values()]);
        }
        if (!(asks ? volume.asks("uid 1") : volume.tells("uid 1"))) continue;
        volume.charge("uid 1", bytes);
        written += bytes;
        assert.ok(written <= 10_000 * (1 + nowMs / DAY_MS) + LARGEST + 1e-6);
      }
    }),
  );
});

test("whoever fills it with refusals can still ask a person, and has it back after a day", () => {
  let nowMs = 0;
  const volume = begin(() => nowMs);
  while (volume.tells("uid 1")) volume.charge("uid 1", 100);
  assert.equal(volume.asks("uid 1"), true);
  assert.equal(volume.tells("uid 2"), true, "another user has their own");
  while (volume.asks("uid 1")) volume.charge("uid 1", 300);
  assert.equal(volume.asks("uid 1"), false);
  nowMs += DAY_MS / 4;
  assert.deepEqual([volume.asks("uid 1"), volume.tells("uid 1")], [true, false]);
  nowMs += DAY_MS;
  assert.equal(volume.tells("uid 1"), true);
});

test("what was larger than what was left is paid back before anything else is written", () => {
  let nowMs = 0;
  const volume = begin(() => nowMs);
  volume.charge("uid 1", 30_000);
  nowMs += DAY_MS;
  assert.equal(volume.asks("uid 1"), false);
  nowMs += DAY_MS + 1_000;
  assert.equal(volume.asks("uid 1"), true);
});

test("what was charged while locked is added to what an earlier life kept, and kept itself once there is a store", () => {
  const disk = new Map([["uid 1", { who: "uid 1", bytes: 9_000, atMs: 0 }]]);
  const volume = begin(() => 0, disk);
  volume.charge("uid 1", 900);
  volume.charge("uid 2", 500);
  assert.equal(disk.size, 1);
  volume.recall([...disk.values()]);
  assert.deepEqual([volume.asks("uid 1"), volume.tells("uid 1"), volume.tells("uid 2")], [true, false, true]);
  assert.ok((disk.get("uid 1")?.bytes ?? 0) >= 9_900 && (disk.get("uid 2")?.bytes ?? 0) >= 500);
  volume.recall([...disk.values()]);
  assert.equal(volume.asks("uid 1"), true, "its own rows are not counted a second time");
});

test("a clock that was set back gives nothing back, and it is not written down for every byte", () => {
  const kept: UsedVolume[] = [];
  const volume = createVolume(LIMITS, { bootMs: () => 0, wallMs: () => 0 }, (used) => kept.push(used));
  volume.recall([{ who: "uid 1", bytes: 10_000, atMs: DAY_MS }]);
  assert.equal(volume.asks("uid 1"), false);
  for (let count = 0; count < 1_000; count++) volume.charge("uid 2", 1);
  assert.ok(kept.length < 110, `${kept.length} writes for 1,000`);
});

test("what was used is kept a step ahead, and not again before the step is used up", () => {
  const kept: UsedVolume[] = [];
  const volume = createVolume({ bytesPerDay: 102_400, remembered: 4 }, { bootMs: () => 0, wallMs: () => 7 }, (used) =>
    kept.push(used),
  );
  volume.charge("a", 1_000);
  assert.deepEqual(kept, [], "a locked gateway has nowhere to keep it");
  volume.recall([]);
  volume.charge("a", 100);
  assert.deepEqual(kept, [{ who: "a", bytes: 1_100, atMs: 7 }]);
  volume.charge("a", 1);
  assert.deepEqual(kept.slice(1), [{ who: "a", bytes: 1_201, atMs: 7 }]);
});

test("what an earlier life used comes back but for what the time between gave, and a clock that went back gives nothing", () => {
  const after = (sinceMs: number) => {
    const volume = createVolume(
      { bytesPerDay: 102_400, remembered: 4 },
      { bootMs: () => 0, wallMs: () => DAY_MS + sinceMs },
      () => undefined,
    );
    volume.recall([{ who: "a", bytes: 102_400, atMs: DAY_MS }]);
    // Only what was found first counts: later it would be charged twice.
    volume.recall([{ who: "b", bytes: 102_400, atMs: DAY_MS }]);
    return [volume.asks("a"), volume.tells("a"), volume.asks("b")];
  };
  assert.deepEqual(after(0), [false, false, true]);
  assert.deepEqual(after(-DAY_MS), [false, false, true]);
  assert.deepEqual(after(DAY_MS / 2), [true, false, true]);
  assert.deepEqual(after(DAY_MS / 2 + 1_000), [true, true, true]);
  assert.deepEqual(after(3 * DAY_MS), [true, true, true]);
});

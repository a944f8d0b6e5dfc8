import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createVolume } from "./volume.ts";

const DAY_MS = 86_400_000;
const LARGEST = 500;

/** Whoever writes whenever they may, and waits as they like. */
const steps = fc.array(
  fc.record({ waitMs: fc.nat({ max: 3_600_000 }), bytes: fc.nat({ max: LARGEST }), asks: fc.boolean() }),
  { maxLength: 400 },
);

test("nobody has more written than a day's bytes at once and as many again a day, however they wait", () => {
  fc.assert(
    fc.property(steps, (all) => {
      let nowMs = 0;
      let written = 0;
      const volume = createVolume({ bytesPerDay: 10_000, remembered: 4 }, () => nowMs);
      for (const { waitMs, bytes, asks } of all) {
        nowMs += waitMs;
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
  const volume = createVolume({ bytesPerDay: 10_000, remembered: 4 }, () => nowMs);
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
  const volume = createVolume({ bytesPerDay: 10_000, remembered: 4 }, () => nowMs);
  volume.charge("uid 1", 30_000);
  nowMs += DAY_MS;
  assert.equal(volume.asks("uid 1"), false);
  nowMs += DAY_MS + 1_000;
  assert.equal(volume.asks("uid 1"), true);
});

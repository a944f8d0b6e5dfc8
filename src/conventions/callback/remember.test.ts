import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Digest } from "../../kernel/canonical-json.ts";
import { createEarlyCallbacks, createSeenEvents, type SeenEvent } from "./remember.ts";

const key = (n: number): Digest => `sha256:${n}` as Digest;

test("a repeated event is known among the last so many, however they came, and no more are kept", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (numbers, most) => {
      const seen = createSeenEvents(most);
      const last: number[] = [];
      for (const n of numbers) {
        const fresh = seen.add(key(n)) !== null;
        assert.equal(fresh, !last.includes(n));
        if (fresh) last.push(n);
        if (last.length > most) last.shift();
        assert.ok(seen.size <= most);
      }
    }),
  );
});

test("what was kept is known again after a start, in whatever order the rows come", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 100 }), fc.nat(), (numbers, turn) => {
      const most = 8;
      const before = createSeenEvents(most);
      const rows = new Map<number, SeenEvent>();
      for (const n of numbers) {
        const event = before.add(key(n));
        if (event !== null) rows.set(event.serial % most, event);
      }
      const kept = [...rows.values()];
      const turned = [...kept.slice(turn % kept.length), ...kept.slice(0, turn % kept.length)];
      const after = createSeenEvents(most);
      for (const event of turned) after.load(event);
      for (const event of kept) assert.equal(after.add(event.key), null);
      assert.equal(after.add(key(99))?.serial, Math.max(...kept.map(({ serial }) => serial)) + 1);
    }),
  );
});

test("an event that could not be recorded counts again", () => {
  const seen = createSeenEvents(4);
  const lost = seen.add(key(1)) ?? assert.fail();
  seen.drop(lost);
  assert.notEqual(seen.add(key(1)), null);
  // Its repeat is then remembered as long as any other: until so many came after it.
  for (const later of [2, 3, 4]) seen.add(key(later));
  assert.equal(seen.add(key(1)), null);
  seen.add(key(5));
  assert.notEqual(seen.add(key(1)), null);
});

test("an early callback is told once, not for long, and only so many are kept", () => {
  const early = createEarlyCallbacks(2, 100);
  early.add("a", 0);
  assert.equal(early.take("a", 99), true);
  assert.equal(early.take("a", 99), false);
  early.add("a", 0);
  assert.equal(early.take("a", 100), false);
  for (const name of ["a", "b", "c"]) early.add(name, 0);
  assert.equal(early.size, 2);
  assert.deepEqual([early.take("a", 1), early.take("c", 1)], [false, true]);
});

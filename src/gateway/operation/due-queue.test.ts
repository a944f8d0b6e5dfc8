import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createDueQueue } from "./due-queue.ts";

test("what is due soonest comes first, whatever the order it was added in", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 50 }), { maxLength: 200 }), (times) => {
      const queue = createDueQueue<number>();
      for (const time of times) queue.add(time, time);
      const taken: number[] = [];
      for (let next = queue.next(); next !== null; next = queue.next()) {
        const thing = queue.take();
        assert.equal(thing, next);
        taken.push(next);
      }
      assert.deepEqual(
        taken,
        [...times].sort((a, b) => a - b),
      );
      assert.equal(queue.take(), undefined);
    }),
  );
});

test("adding and taking in between keeps the order, and clearing empties it", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat({ max: 30 })), { maxLength: 200 }), (steps) => {
      const queue = createDueQueue<number>();
      let model: number[] = [];
      for (const step of steps) {
        if (step !== null) {
          queue.add(step, step);
          model.push(step);
          continue;
        }
        model = model.sort((a, b) => a - b);
        assert.equal(queue.take(), model.shift());
      }
      queue.clear();
      assert.equal(queue.next(), null);
    }),
  );
});

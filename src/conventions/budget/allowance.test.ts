import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createAllowances } from "./allowance.ts";

test("nobody does more than a burst and what a second gives back, whenever they come", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 5_000 }), { maxLength: 300 }), (gaps) => {
      const allowances = createAllowances({ burst: 5, perSecond: 2, remembered: 4 });
      let nowMs = 0;
      let taken = 0;
      for (const gap of gaps) {
        nowMs += gap;
        if (allowances.take("a", nowMs)) taken++;
        assert.ok(taken <= 5 + (nowMs / 1000) * 2 + 1e-6);
      }
    }),
  );
});

test("everybody has their own, and whoever was silent for longest is forgotten", () => {
  const allowances = createAllowances({ burst: 1, perSecond: 0, remembered: 2 });
  assert.deepEqual([allowances.take("a", 0), allowances.take("b", 0), allowances.take("a", 0)], [true, true, false]);
  allowances.take("c", 0);
  assert.equal(allowances.take("b", 0), true, "b was forgotten");
  assert.equal(allowances.take("c", 0), false);
});

test("a clock that goes back gives nothing", () => {
  const allowances = createAllowances({ burst: 1, perSecond: 1, remembered: 2 });
  allowances.take("a", 10_000);
  assert.equal(allowances.take("a", 0), false);
});

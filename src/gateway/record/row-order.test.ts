import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { StateRow } from "../ports.ts";
import { createRowOrder } from "./row-order.ts";

const row = (id: string): StateRow => ({ table: "runs", id, runId: id, state: "open", body: {} });

test("an earlier picture of a row does not replace a later one that was kept sooner", () => {
  const order = createRowOrder();
  const early = order.begin();
  const late = order.begin();
  assert.deepEqual(order.newest(late, [row("a")]), [row("a")]);
  assert.deepEqual(order.newest(early, [row("a"), row("b")]), [row("b")]);
});

test("whatever the order in which pictures are kept, what stands is the latest one of each row", () => {
  const turns = fc.array(fc.record({ id: fc.constantFrom("a", "b", "c"), delay: fc.nat(9) }), { maxLength: 60 });
  fc.assert(
    fc.property(turns, (taken) => {
      const order = createRowOrder();
      const stored = new Map<string, number>();
      const moments = taken.map(({ id, delay }, at) => ({ id, moment: order.begin(), due: at + delay }));
      for (const { id, moment } of moments.toSorted((a, b) => a.due - b.due)) {
        for (const kept of order.newest(moment, [row(id)])) stored.set(kept.id, moment);
        order.end(moment);
      }
      for (const [id, moment] of stored) {
        assert.equal(moment, moments.findLast((one) => one.id === id)?.moment);
      }
    }),
  );
});

test("rows that nobody can be late for are let go, and the others are not", () => {
  const order = createRowOrder();
  const slow = order.begin();
  for (let count = 0; count < 5_000; count++) {
    const moment = order.begin();
    order.newest(moment, [row(`r${count}`)]);
    order.end(moment);
  }
  assert.deepEqual(order.newest(slow, [row("r0"), row("fresh")]), [row("fresh")], "the slow one is still behind");
});

test("past 1,024 rows all that no moment under way can be behind are let go, and none before", () => {
  const order = createRowOrder();
  // A moment that has ended keeps nothing more: asked all the same, it says whether a row is remembered.
  const ended = order.begin();
  order.end(ended);
  const isRemembered = (id: string): boolean => order.newest(ended, [row(id)]).length === 0;
  const keep = (id: string): void => {
    const moment = order.begin();
    order.newest(moment, [row(id)]);
    order.end(moment);
  };
  for (let count = 1; count <= 1_024; count++) keep(`r${count}`);
  assert.ok(isRemembered("r1") && isRemembered("r1024"));
  keep("r1025");
  assert.ok(!isRemembered("r1") && !isRemembered("r1024") && !isRemembered("r1025"));
});

test("what is unordered is always kept, and one moment may keep a row twice", () => {
  const order = createRowOrder();
  const [earlier, later] = [order.begin(), order.begin()];
  const one = { table: "notes", id: "a", runId: "", state: "x", body: {} } as const;
  assert.deepEqual(order.newest(later, [one]), [one]);
  assert.deepEqual(order.newest(later, [one]), [one]);
  assert.deepEqual(order.newest(earlier, [one]), []);
  const free = { ...one, unordered: true } as const;
  assert.deepEqual(order.newest(earlier, [free]), [free]);
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createIds, firstIdAt, readId } from "./ids.ts";

const random = { bytes: randomBytes };

test("identifiers sort by the time they were made", () => {
  let nowMs = 1_700_000_000_000;
  const ids = createIds({ wallMs: () => nowMs }, random);
  const made = Array.from({ length: 50 }, () => {
    nowMs += 1;
    return ids.next("run");
  });
  assert.deepEqual([...made].sort(), made);
});

test("identifiers of one moment do not repeat", () => {
  const ids = createIds({ wallMs: () => 0 }, random);
  assert.equal(new Set(Array.from({ length: 10_000 }, () => ids.next("evt"))).size, 10_000);
});

test("only an identifier of its kind is read", () => {
  const ids = createIds({ wallMs: () => 1_700_000_000_000 }, random);
  const run = ids.next("run");
  assert.equal(readId("run", run), run);
  assert.equal(readId("call", run), undefined);
  for (const text of ["", "run_", `${run}x`, run.toUpperCase(), ` ${run}`, `${run}\n`])
    assert.equal(readId("run", text), undefined);
});

test("nothing else passes for an identifier", () => {
  fc.assert(fc.property(fc.string(), (text) => readId("run", text) === undefined));
});

test("the first identifier of a time sorts before all that are made from then on, and after all made earlier", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 45 }), fc.integer({ min: 0, max: 2 ** 40 }), (atMs, laterMs) => {
      const made = (wallMs: number) => createIds({ wallMs: () => wallMs }, { bytes: randomBytes }).next("run");
      assert.ok(firstIdAt("run", atMs) < made(atMs + laterMs));
      assert.ok(made(atMs - 1) < firstIdAt("run", atMs));
    }),
  );
});

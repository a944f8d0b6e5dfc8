import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isNestedWithin } from "./depth.ts";

test("nesting is counted as JSON nests, and brackets in text count for nothing", () => {
  assert.ok(isNestedWithin('{"a":"[[[[","b":["\\"["]}', 2));
  assert.ok(!isNestedWithin("[[[]]]", 2));
  assert.ok(isNestedWithin("[[],[],[]]", 2));
  assert.ok(!isNestedWithin("[".repeat(200_000), 64));
});

test("objects and arrays are counted wherever they stand, and those in text are not", () => {
  const text = '[{},[],{"a":"[{","b":[]}]';
  assert.ok(isNestedWithin(text, 3, 5));
  assert.ok(!isNestedWithin(text, 3, 4));
});

test("it agrees with the depth of whatever JSON there is", () => {
  const depthOf = (value: unknown): number =>
    typeof value !== "object" || value === null ? 0 : 1 + Math.max(0, ...Object.values(value).map(depthOf));
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      assert.ok(isNestedWithin(text, depthOf(value)));
      if (depthOf(value) > 0) assert.ok(!isNestedWithin(text, depthOf(value) - 1));
    }),
  );
});

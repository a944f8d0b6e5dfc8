import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../../src/kernel/json.ts";
import { appendPointer, followPointer } from "./pointer.ts";

test("a pointer leads to what stands there, and to nothing that only seems to", () => {
  const value = { list: ["a", { b: 1 }], "x/y": { "~": true } };
  assert.equal(followPointer(value, ""), value);
  assert.equal(followPointer(value, "/list/1/b"), 1);
  assert.equal(followPointer(value, "/x~1y/~0"), true);
  for (const pointer of [
    "/list/length",
    "/list/01",
    "/list/-",
    "/list/9",
    "/toString",
    "/__proto__",
    "/list/0/length",
  ]) {
    assert.equal(followPointer(value, pointer), undefined, pointer);
  }
});

test("whatever the names are, a pointer made of them leads back", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), (names) => {
      // `__proto__` as a computed name is a plain member.
      const value = names.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), "here");
      assert.equal(followPointer(value, names.reduce(appendPointer, "")), "here");
    }),
  );
});

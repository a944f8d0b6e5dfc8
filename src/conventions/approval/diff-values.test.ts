import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../kernel/json.ts";
import { type Difference, diffValues } from "./diff-values.ts";

function shown(before: JsonValue | undefined, after: JsonValue | undefined): readonly string[] {
  return diffValues(before, after).map(({ sign, path, value }) => `${sign} ${path}=${JSON.stringify(value)}`);
}

test("a value that changed goes and comes under one path, and what is the same stays", () => {
  assert.deepEqual(shown({ role: "viewer", name: "x" }, { role: "editor", name: "x" }), [
    '- role="viewer"',
    '+ role="editor"',
    '  name="x"',
  ]);
});

test("what is created only comes, what is removed only goes", () => {
  assert.deepEqual(shown(undefined, { a: { b: 1 } }), ["+ a.b=1"]);
  assert.deepEqual(shown([true], undefined), ["- [0]=true"]);
  assert.deepEqual(shown(undefined, undefined), []);
});

test("a member that is null is a value, and not the same as none", () => {
  assert.deepEqual(shown({ a: null }, {}), ["- a=null", "+ ={}"]);
  assert.deepEqual(shown({ a: null, b: 1 }, { b: 1 }), ["- a=null", "  b=1"]);
});

test("one entry less at the head of a list is one entry less", () => {
  assert.deepEqual(shown({ t: ["a", "b", "c"] }, { t: ["b", "c"] }), ['- t[]="a"', '  t[]="b"', '  t[]="c"']);
  assert.deepEqual(shown(["a", "b"], ["b", "a"]), ['- []="a"', '  []="b"', '+ []="a"']);
});

test("a text is never taken for the number it spells", () => {
  assert.deepEqual(shown({ n: 5 }, { n: "5" }), ["- n=5", '+ n="5"']);
  assert.deepEqual(shown([1], ["1"]), ["- []=1", '+ []="1"']);
});

test("lists too long to compare are shown whole on both sides", () => {
  const [before, after] = [Array.from({ length: 600 }, (_, at) => at), Array.from({ length: 600 }, (_, at) => at + 1)];
  const found = diffValues(before, after);
  assert.equal(found.filter(({ sign }) => sign === "-").length, 600);
  assert.equal(found.filter(({ sign }) => sign === "+").length, 600);
});

test("a name cannot pass for a path", () => {
  assert.notDeepEqual(shown(undefined, { "a.b": 1 }), shown(undefined, { a: { b: 1 } }));
  assert.notDeepEqual(shown(undefined, { "t[]": "a" }), shown({ t: ["b"] }, { t: ["b", "a"] }));
});

test("a member called like something that every object inherits is only a member", () => {
  assert.deepEqual(shown({ valueOf: "a" }, { x: 1 }), ['- valueOf="a"', "+ x=1"]);
  const odd = JSON.parse('{"__proto__": 1, "constructor": 2}') as JsonValue;
  assert.deepEqual(shown(odd, { y: 1 }), ["- __proto__=1", "- constructor=2", "+ y=1"]);
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;

/** Leaves of a value, as a bag: what must stand in a diff, whatever the other side is. */
function leaves(value: JsonValue): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((one: JsonValue) => leaves(one));
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0)
    return Object.values(value).flatMap((one) => leaves(one as JsonValue));
  return [JSON.stringify(value)];
}

test("every leaf of both sides is in the diff exactly once, and equal values differ in nothing", () => {
  const bag = (found: readonly Difference[], signs: string): readonly string[] =>
    found
      .filter(({ sign }) => signs.includes(sign))
      .map(({ value }) => JSON.stringify(value))
      .sort();
  fc.assert(
    fc.property(json, json, (before, after) => {
      const found = diffValues(before, after);
      assert.deepEqual(bag(found, "- "), [...leaves(before)].sort());
      assert.deepEqual(bag(found, "+ "), [...leaves(after)].sort());
    }),
    { numRuns: 400 },
  );
  fc.assert(
    fc.property(json, (value) => {
      assert.ok(diffValues(value, JSON.parse(JSON.stringify(value)) as JsonValue).every(({ sign }) => sign === " "));
    }),
    { numRuns: 200 },
  );
});

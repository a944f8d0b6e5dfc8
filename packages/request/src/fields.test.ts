import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied, Fault } from "../../../src/kernel/failure.ts";
import { planFields } from "./fields.ts";
import { readPairs } from "./pairs.ts";
import type { JsonSchema } from "./schema.ts";

const rules = { malformed: "form_malformed", lists: new Set(["list"]) } as const;

function read(text: string): unknown {
  return Object.fromEntries(readPairs(text, rules));
}

function code(text: string): string {
  try {
    readPairs(text, rules);
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return error.code;
  }
  return "accepted";
}

test("pairs are decoded once, with plus as a space", () => {
  assert.deepEqual(read(""), {});
  assert.deepEqual(read("a=1&b=x+y&c=%2B&d=%252F&e="), { a: ["1"], b: ["x y"], c: ["+"], d: ["%2F"], e: [""] });
  assert.deepEqual(read("%61=%C3%A9"), { a: ["é"] });
});

test("a name repeats only where the schema says list, and never by first or last wins", () => {
  assert.deepEqual(read("list=a&x=1&list=b"), { list: ["a", "b"], x: ["1"] });
  assert.equal(code("a=1&a=1"), "repeated_name");
  assert.equal(code("a=1&%61=2"), "repeated_name");
  assert.equal(code("__proto__=1&__proto__=2"), "repeated_name");
});

test("what parsers read in different ways is read in none", () => {
  for (const text of [
    "a",
    "=1",
    "&",
    "a=1&",
    "&a=1",
    "a=1&&b=2",
    "a=1;b=2",
    "a=b=c",
    "a[]=1",
    "a%5B0%5D=1",
    "a=%",
    "a=%1",
    "a=%gg",
    "a=%ff",
    "a=%ed%a0%80",
    "a=é",
    "a=b c",
    "a=\u0000",
    "a=#",
    'a="b"',
    "a=<b>",
    "a=b\r\nc=d",
  ]) {
    assert.equal(code(text), "form_malformed", text);
  }
});

test("what URLSearchParams writes is read back, unless a name could mean a structure or nothing", () => {
  const pairs = fc.uniqueArray(
    fc.tuple(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
      fc.string({ unit: "grapheme", maxLength: 12 }),
    ),
    {
      selector: ([name]) => name,
      maxLength: 10,
    },
  );
  fc.assert(
    fc.property(pairs, (list) => {
      const text = new URLSearchParams(list as [string, string][]).toString();
      if (list.some(([name]) => /[[\]]/.test(name))) {
        assert.equal(code(text), "form_malformed");
        return;
      }
      assert.deepEqual(
        [...readPairs(text, rules)],
        list.map(([name, value]) => [name, [value]]),
      );
    }),
  );
});

test("fields become the typed values of the schema, each type in one spelling", () => {
  const plan = planFields({
    type: "object",
    properties: {
      n: { type: "integer" },
      b: { type: "boolean" },
      s: { type: "string" },
      e: { enum: ["1", "2"] },
      list: { type: "array", items: { type: "integer" } },
    },
  });
  const convert = (text: string): unknown => ({
    ...plan.convert(readPairs(text, { malformed: "form_malformed", lists: plan.lists })),
  });
  assert.deepEqual(convert("n=12&b=true&s=12&e=1&list=1&list=-2"), { n: 12, b: true, s: "12", e: "1", list: [1, -2] });
  assert.deepEqual(convert("list=7"), { list: [7] });
  // Text that is not the type stays text, for the schema to refuse.
  for (const text of ["01", "+1", "1.0", "1e1", "-0", "", " 1", "0x1", "9007199254740993", "99999999999999999"]) {
    assert.deepEqual(convert(`n=${encodeURIComponent(text)}`), { n: text });
  }
  for (const text of ["TRUE", "1", "on", "yes", ""]) assert.deepEqual(convert(`b=${text}`), { b: text });
});

test("a field schema that text cannot carry is a fault of its author", () => {
  const schemas: readonly JsonSchema[] = [
    { type: "string" },
    { type: "object", additionalProperties: true },
    { type: "object", properties: { a: { type: "object" } } },
    { type: "object", properties: { a: { type: "null" } } },
    { type: "object", properties: { a: { type: ["string", "null"] } } },
    { type: "object", properties: { a: { type: "array", items: { type: "array" } } } },
    { type: "object", properties: { a: { enum: ["a", 1] } } },
  ];
  for (const schema of schemas) assert.throws(() => planFields(schema), Fault, JSON.stringify(schema));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Fault } from "../../../src/kernel/failure.ts";
import type { JsonValue } from "../../../src/kernel/json.ts";
import { parseJson } from "./json/parse.ts";
import { compileSchema, type JsonSchema } from "./schema.ts";
import { checkSchema } from "./schema-check.ts";
import type { FromSchema } from "./schema-type.ts";

function found(schema: JsonSchema, value: JsonValue): readonly string[] {
  return compileSchema(schema)(value).map(({ code, path }) => `${code} ${path}`);
}

const text: JsonSchema = { type: "string" };

test("nothing is coerced: each type admits its own values alone", () => {
  const values: readonly (readonly [string, JsonValue])[] = [
    ["string", "1"],
    ["integer", 1],
    ["number", 1.5],
    ["boolean", true],
    ["null", null],
    ["array", []],
    ["object", {}],
  ];
  for (const [type] of values) {
    for (const [name, value] of values) {
      const fits = type === name || (type === "number" && name === "integer");
      const findings = found({ type } as JsonSchema, value);
      assert.deepEqual(findings, fits ? [] : ["wrong_type "], `${name} as ${type}`);
    }
  }
});

test("an integer identifier is not a float", () => {
  const check = compileSchema({ type: "object", properties: { id: { type: "integer" } } });
  for (const [body, fits] of [
    ['{"id":10}', true],
    ['{"id":10.0}', false],
    ['{"id":1e1}', false],
    ['{"id":-0}', false],
    ['{"id":10.5}', false],
    ['{"id":1e20}', false],
  ] as const) {
    const { value, spelling } = parseJson(Buffer.from(body));
    assert.equal(check(value, spelling).length === 0, fits, body);
  }
  const either = compileSchema({ type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } });
  const mixed = parseJson(Buffer.from('["a",1,2.0]'));
  assert.deepEqual(
    either(mixed.value, mixed.spelling).map(({ path }) => path),
    ["/2"],
  );
  const alone = parseJson(Buffer.from("1.0"));
  assert.equal(compileSchema({ type: "integer" })(alone.value, alone.spelling).length, 1);
  const anywhere = compileSchema({ type: "array", items: { type: "number" } });
  const { value, spelling } = parseJson(Buffer.from("[1.0,1e1,-0]"));
  assert.deepEqual(anywhere(value, spelling), []);
});

test("unknown members are refused unless compatibility is declared", () => {
  const properties = { a: text };
  assert.deepEqual(found({ type: "object", properties }, { a: "", b: 1 }), ["unknown_member /b"]);
  assert.deepEqual(found({ type: "object", properties, additionalProperties: true }, { a: "", b: 1 }), []);
  const map: JsonSchema = { type: "object", additionalProperties: { type: "integer" }, maxProperties: 2 };
  assert.deepEqual(found(map, { x: 1, "y/z": "no" }), ["wrong_type /y~1z"]);
  assert.deepEqual(found(map, { x: 1, y: 2, z: 3 }), ["value_not_allowed "]);
});

test("omitted, null and empty string are judged apart", () => {
  const schema: JsonSchema = {
    type: "object",
    required: ["a"],
    properties: { a: { type: ["string", "null"], minLength: 1 } },
  };
  assert.deepEqual(found(schema, {}), ["missing_member /a"]);
  assert.deepEqual(found(schema, { a: null }), []);
  assert.deepEqual(found(schema, { a: "" }), ["value_not_allowed /a"]);
});

test("a required name is never satisfied by inheritance", () => {
  const schema: JsonSchema = { type: "object", required: ["toString"], properties: { toString: text } as never };
  assert.deepEqual(found(schema, {}), ["missing_member /toString"]);
});

test("lengths count code points and hold before a pattern runs", () => {
  const schema: JsonSchema = { type: "string", minLength: 2, maxLength: 3 };
  for (const [value, fits] of [
    ["😀", false],
    ["😀😀", true],
    ["😀😀😀", true],
    ["😀😀😀😀", false],
    ["ab", true],
    ["a", false],
  ] as const) {
    assert.equal(found(schema, value).length === 0, fits, value);
  }
  // Without a maxLength of its own a text under a pattern is still bounded.
  assert.deepEqual(found({ type: "string", pattern: "^a*$" }, "a".repeat(257)), ["value_not_allowed "]);
  assert.deepEqual(found({ type: "string", pattern: "^a*$", maxLength: 300 }, "a".repeat(257)), []);
});

test("enum, const, bounds, items and formats", () => {
  assert.deepEqual(found({ enum: ["a", 1, null] }, "a"), []);
  assert.deepEqual(found({ enum: ["a", 1, null] }, "1"), ["value_not_allowed "]);
  assert.deepEqual(found({ enum: ["a"] }, ["a"]), ["value_not_allowed "]);
  assert.deepEqual(found({ const: "preview" }, "execute"), ["value_not_allowed "]);
  assert.deepEqual(found({ type: "integer", minimum: 1, maximum: 3 }, 0), ["value_not_allowed "]);
  assert.deepEqual(found({ type: "integer", minimum: 1, maximum: 3 }, 4), ["value_not_allowed "]);
  const list: JsonSchema = { type: "array", items: text, minItems: 1, maxItems: 2, uniqueItems: true };
  assert.deepEqual(found(list, []), ["value_not_allowed "]);
  assert.deepEqual(found(list, ["a", "b", "c"]), ["value_not_allowed "]);
  assert.deepEqual(found(list, ["a", "a"]), ["value_not_allowed "]);
  assert.deepEqual(found(list, ["a", 1]), ["wrong_type /1"]);
  for (const [format, value, fits] of [
    ["date", "2024-02-29", true],
    ["date", "2026-02-29", false],
    ["date", "1900-02-29", false],
    ["date", "2026-13-01", false],
    ["date", "2026-04-31", false],
    ["date-time", "2026-10-01T23:59:59Z", true],
    ["date-time", "2026-10-01T23:59:59.123Z", true],
    ["date-time", "2026-10-01T24:00:00Z", false],
    ["date-time", "2026-10-01T23:59:59+00:00", false],
    ["date-time", "2026-02-30T00:00:00Z", false],
    ["uuid", "0f8fad5b-d9cb-469f-a165-70867728950e", true],
    ["uuid", "0F8FAD5B-D9CB-469F-A165-70867728950E", false],
  ] as const) {
    assert.equal(found({ type: "string", format }, value).length === 0, fits, `${format} ${value}`);
  }
});

test("anyOf admits what one alternative admits", () => {
  const schema: JsonSchema = { anyOf: [{ type: "integer" }, { type: "string", maxLength: 2 }] };
  assert.deepEqual(found(schema, 1), []);
  assert.deepEqual(found(schema, "ab"), []);
  assert.deepEqual(found(schema, "abc"), ["value_not_allowed "]);
});

test("what fits no alternative is told what each wanted, where that is said of the very same place", () => {
  const said = (schema: JsonSchema, value: JsonValue) => compileSchema(schema)(value).map(({ message }) => message);
  const either: JsonSchema = { anyOf: [{ enum: ["a", "b"] }, { type: "integer" }] };
  assert.match(said(either, "c").join(), /^fits none of 2 alternatives: expected one of "a", "b", or expected \S+/);
  const deeper: JsonSchema = { anyOf: [{ type: "array", items: { type: "integer" } }, { type: "integer" }] };
  assert.deepEqual(said(deeper, ["x"]), ["fits none of 2 alternatives"]);
});

test("a hostile value buys a bounded number of bounded findings", () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`${"x".repeat(1000)}${index}`, 1]));
  const findings = compileSchema({ type: "object" })(many);
  assert.equal(findings.length, 32);
  assert.ok(findings.every(({ path }) => path.length <= 257));
});

test("long names and many numbers together cost no more than their bytes", () => {
  // Paths made of these would be ten thousand times a hundred thousand characters.
  const text = `{"${"n".repeat(100_000)}":[${"1.0,".repeat(10_000)}1.0],"id":1}`;
  const { value, spelling } = parseJson(Buffer.from(text));
  const check = compileSchema({
    type: "object",
    properties: { id: { type: "integer" } },
    additionalProperties: { type: "array", items: { type: "integer" } },
  });
  const findings = check(value, spelling);
  assert.equal(findings.length, 32);
  assert.equal(findings[0]?.code, "wrong_type");
});

test("a schema outside the subset is a fault of its author, with its place", () => {
  const places: readonly (readonly [unknown, string])[] = [
    [[], ""],
    [{}, ""],
    [{ type: "text" }, "/type"],
    [{ type: [] }, "/type"],
    [{ type: "string", $ref: "#/x" }, "/$ref"],
    [{ type: "string", minLenght: 1 }, "/minLenght"],
    [{ type: "string", minimum: 1 }, "/minimum"],
    [{ type: "string", maxLength: -1 }, "/maxLength"],
    [{ type: "string", minLength: 3, maxLength: 2 }, "/minLength"],
    [{ type: "string", format: "email" }, "/format"],
    [{ type: "string", pattern: "^(a+)+$" }, "/pattern"],
    [{ type: "integer", minimum: "1" }, "/minimum"],
    [{ enum: [] }, "/enum"],
    [{ enum: ["a", "a"] }, "/enum"],
    [{ enum: [{}] }, "/enum"],
    [{ enum: ["a"], const: "a" }, "/const"],
    [{ type: "object", properties: { a: { type: "nope" } } }, "/properties/a/type"],
    [{ type: "object", required: ["a"] }, "/required"],
    [{ type: "object", properties: { a: { type: "string" } }, required: ["a", "a"] }, "/required"],
    [{ type: "array", items: { type: "object" }, uniqueItems: true }, "/uniqueItems"],
    [{ anyOf: [] }, "/anyOf"],
  ];
  for (const [schema, path] of places) {
    assert.deepEqual(
      checkSchema(schema).map((fault) => fault.path),
      [path],
      JSON.stringify(schema),
    );
    assert.throws(() => compileSchema(schema as JsonSchema), Fault);
  }
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 20; level++) deep = { type: "array", items: deep };
  assert.equal(checkSchema(deep).length, 1);
});

test("the static type of a schema is the type of what it admits", () => {
  const schema = {
    type: "object",
    required: ["id", "role"],
    properties: {
      id: { type: "integer" },
      role: { enum: ["viewer", "editor"] },
      note: { type: ["string", "null"] },
      tags: { type: "array", items: { type: "string" } },
    },
  } as const satisfies JsonSchema;
  const value: FromSchema<typeof schema> = { id: 1, role: "viewer", note: null, tags: ["a"] };
  assert.deepEqual(compileSchema(schema)(value), []);
  // @ts-expect-error a role outside the enum does not compile
  const wrong: FromSchema<typeof schema> = { id: 1, role: "owner" };
  assert.equal(compileSchema(schema)(wrong).length, 1);
  // @ts-expect-error a required member cannot be left out
  const missing: FromSchema<typeof schema> = { id: 1 };
  assert.equal(compileSchema(schema)(missing).length, 1);
});

test("a value is admitted exactly when a plain reading of the schema says so", () => {
  const schema: JsonSchema = {
    type: "object",
    required: ["n"],
    properties: { n: { type: "integer", minimum: 0, maximum: 9 }, s: { type: "string", maxLength: 3 } },
  };
  const check = compileSchema(schema);
  const value = fc.dictionary(
    fc.constantFrom("n", "s", "x"),
    fc.oneof(fc.integer({ min: -3, max: 12 }), fc.string({ maxLength: 5 })),
  );
  fc.assert(
    fc.property(value, (object) => {
      const { n, s } = object;
      const fits =
        typeof n === "number" &&
        n >= 0 &&
        n <= 9 &&
        !("x" in object) &&
        (s === undefined || (typeof s === "string" && [...s].length <= 3));
      assert.equal(check(object).length === 0, fits, JSON.stringify(object));
    }),
  );
});

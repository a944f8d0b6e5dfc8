import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../../../kernel/json.ts";
import { inferSchema } from "./infer-schema.ts";

const SAFE = Number.MAX_SAFE_INTEGER;

test("a value of one kind is of that kind, with a bound", () => {
  assert.deepEqual(inferSchema([true, false]), { type: "boolean" });
  assert.deepEqual(inferSchema([3, 0]), { type: "integer", minimum: 0, maximum: SAFE });
  assert.deepEqual(inferSchema([3, -1]), { type: "integer", minimum: -SAFE, maximum: SAFE });
  for (const numbers of [[1.5], [1, 1.5], [SAFE + 1]])
    assert.deepEqual(inferSchema(numbers), { type: "number", minimum: -SAFE, maximum: SAFE });
  assert.deepEqual(inferSchema([["a"], []]), {
    type: "array",
    maxItems: 100,
    items: { type: "string", maxLength: 64 },
  });
});

test("a text has room for twice the longest that was seen, and for 64 characters at least", () => {
  const room = (length: number) => inferSchema(["a".repeat(length), "a"])?.["maxLength"];
  assert.deepEqual([0, 32, 33, 64, 65].map(room), [64, 64, 128, 128, 256]);
});

test("where null was seen beside a value it may be sent again, and alone it says nothing", () => {
  assert.deepEqual(inferSchema(["a", null]), { type: ["string", "null"], maxLength: 64 });
  assert.equal(inferSchema([null]), null);
  assert.equal(inferSchema([]), null);
  assert.equal(inferSchema([[]]), null);
});

test("values of two kinds have no schema, unless both are numbers", () => {
  for (const values of [
    ["a", 1],
    [true, "a"],
    [1, {}],
    [[], {}],
    [1.5, "a"],
  ] as JsonValue[][])
    assert.equal(inferSchema(values), null, JSON.stringify(values));
});

test("a member of an object is required where every sample has it; what was only ever null is some text", () => {
  const samples = [
    { id: 1, note: null },
    { id: 2, note: null, more: true },
  ];
  assert.deepEqual(inferSchema(samples), {
    type: "object",
    required: ["id", "note"],
    properties: {
      id: { type: "integer", minimum: 0, maximum: SAFE },
      note: { type: ["string", "null"], maxLength: 256 },
      more: { type: "boolean" },
    },
  });
});

test("what is nested deeper than five is not guessed at", () => {
  const nested = (depth: number): JsonValue => (depth === 0 ? "a" : [nested(depth - 1)]);
  assert.notEqual(inferSchema([nested(5)]), null);
  assert.equal(inferSchema([nested(6)]), null);
});

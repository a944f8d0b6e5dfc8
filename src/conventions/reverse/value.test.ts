import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { InputField } from "../action/pack.ts";
import { readText } from "./value.ts";

const read = (schema: JsonSchema, texts: readonly string[], list: InputField["list"] = null) =>
  readText({ schema, list } as InputField, texts);

test("a text is the first value of its type that would be written so, and no other", () => {
  const integer: JsonSchema = { type: "integer" };
  for (const text of ["0", "7", "-7", "9007199254740991"]) assert.equal(read(integer, [text]), Number(text));
  for (const text of ["", "-0", "07", "7.0", "1e3", "9007199254740992", "12345678901234567"])
    assert.equal(read(integer, [text]), undefined, text);
  assert.equal(read({ type: "number" }, ["1.5"]), 1.5);
  for (const text of ["", "1.50", " 1"]) assert.equal(read({ type: "number" }, [text]), undefined, text);
  assert.deepEqual([read({ type: "boolean" }, ["true"]), read({ type: "boolean" }, ["false"])], [true, false]);
  assert.equal(read({ type: "boolean" }, ["1"]), undefined);
  assert.equal(read({ type: ["integer", "string"] }, ["7"]), 7);
  assert.equal(read({ type: ["integer", "string"] }, ["x"]), "x");
  assert.equal(read({}, ["x"]), "x");
});

test("what the definition lists is read as it is listed, and anything else is nothing", () => {
  assert.equal(read({ const: 7 }, ["7"]), 7);
  assert.equal(read({ const: 7 }, ["8"]), undefined);
  const listed: JsonSchema = { enum: ["a", 2, true, null] };
  assert.deepEqual(
    ["a", "2", "true", "null", "b"].map((text) => read(listed, [text])),
    ["a", 2, true, undefined, undefined],
  );
  const either: JsonSchema = { anyOf: [{ type: "integer" }, { const: "all" }] };
  assert.deepEqual(
    ["7", "all", "none"].map((text) => read(either, [text])),
    [7, "all", undefined],
  );
});

test("a single value came once; a list is read item by item, and one that does not fit spoils it", () => {
  assert.equal(read({}, ["a", "b"]), undefined);
  assert.equal(read({}, []), undefined);
  const items: JsonSchema = { type: "array", items: { type: "integer" } };
  assert.deepEqual(read(items, ["1", "2"], "repeat"), [1, 2]);
  assert.deepEqual(read(items, ["1,2"], "comma"), [1, 2]);
  assert.equal(read(items, ["1", "x"], "repeat"), undefined);
  assert.equal(read(items, ["1,x"], "comma"), undefined);
  assert.deepEqual(read({ type: "array" }, ["1"], "repeat"), ["1"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../kernel/json.ts";
import { type CallResult, heldBytes, readBody, WrittenJson, writeResult } from "./result.ts";

function resultWith(body: unknown): CallResult {
  const response = { status: 200, headers: { etag: '"a\\"' }, body, body_kind: "json", provider_request_id: null };
  return { call_id: "call_1", run_id: "run_1", outcome: "success", guidance: null, response } as unknown as CallResult;
}

test("a result whose body was written is passed on as the one whose body is a value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const written = new WrittenJson(value as JsonValue);
      const same = JSON.parse(JSON.stringify(resultWith(value))) as unknown;
      assert.deepEqual(JSON.parse(writeResult(resultWith(written))), same);
      assert.deepEqual(JSON.parse(writeResult(resultWith(value))), same);
      assert.deepEqual(JSON.parse(JSON.stringify(resultWith(written))), same);
      assert.deepEqual(readBody({ body: written }), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("what a written body takes is its text, and one of many small values takes less so than parsed", () => {
  const value = Array.from({ length: 10_000 }, () => []);
  const written = resultWith(new WrittenJson(value));
  assert.ok(heldBytes(written) > JSON.stringify(value).length);
  assert.ok(heldBytes(written) < heldBytes(resultWith(value)) / 4);
});

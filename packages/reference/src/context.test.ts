import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../src/kernel/failure.ts";
import { bearerOf, readFields } from "./context.ts";

function codeOf(work: () => unknown): string {
  try {
    work();
    return "accepted";
  } catch (error) {
    assert.ok(error instanceof Denied);
    return error.code;
  }
}

test("each field comes at most once and in its own grammar", () => {
  const good = [
    "Idempotency-Key",
    "0123456789abcdef",
    "X-Trace-ID",
    "t:1",
    "X-Correlation-ID",
    "c.1",
    "If-Match",
    '"a"',
  ];
  assert.deepEqual(readFields(good), {
    ...{
      authorization: undefined,
      idempotencyKey: "0123456789abcdef",
      correlationId: "c.1",
      traceId: "t:1",
      ifMatch: '"a"',
    },
  });
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [["If-Match", '"a"', "if-match", '"b"'], "framing_invalid"],
    [["Idempotency-Key", "short"], "idempotency_key_missing"],
    [["Idempotency-Key", "x".repeat(129)], "idempotency_key_missing"],
    [["Idempotency-Key", "0123456789abcde!"], "idempotency_key_missing"],
    [["X-Trace-ID", "a b"], "header_value_refused"],
    [["X-Correlation-ID", ""], "header_value_refused"],
    [["If-Match", "*"], "header_value_refused"],
    [["If-Match", '"a", "b"'], "header_value_refused"],
    [["If-Match", "a"], "header_value_refused"],
  ];
  for (const [headers, code] of wrong)
    assert.equal(
      codeOf(() => readFields(headers)),
      code,
      headers.join(),
    );
});

test("a bearer token is one word after one scheme", () => {
  const of = (authorization: string) => codeOf(() => bearerOf(readFields(["Authorization", authorization])));
  assert.equal(bearerOf(readFields(["authorization", "bearer a.b.c"])), "a.b.c");
  assert.equal(
    codeOf(() => bearerOf(readFields([]))),
    "token_missing",
  );
  for (const text of [
    "a.b.c",
    "Basic a",
    "Bearer",
    "Bearer ",
    "Bearer a b",
    "Bearer  a",
    "Bearer a,Bearer b",
    "Bearer é",
  ]) {
    assert.equal(of(text), "token_invalid", text);
  }
});

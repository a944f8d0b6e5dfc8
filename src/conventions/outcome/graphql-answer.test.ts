import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../../kernel/json.ts";
import type { Verdict } from "./classify.ts";
import { holdToGraphql } from "./graphql-answer.ts";
import type { Answered } from "./observation.ts";

const observation = { kind: "answered", status: 200 } as Answered;
const success: Verdict = { kind: "success", observation };
const errors = [{ message: "no" }];

function judged(body: JsonValue, sideEffect = true): string {
  const verdict = holdToGraphql(success, sideEffect, () => body);
  return "reason" in verdict ? `${verdict.kind} ${verdict.reason}` : verdict.kind;
}

test("data without errors is a receipt", () => {
  for (const body of [
    { data: { a: 1 } },
    { data: { a: null } },
    { data: { a: 1 }, errors: [] },
    { data: {}, errors: null },
  ])
    for (const sideEffect of [true, false]) assert.equal(judged(body, sideEffect), "success", JSON.stringify(body));
});

test("errors without any data are the provider's no", () => {
  for (const body of [{ errors }, { data: null, errors }, { data: { a: null, b: null }, errors }])
    for (const sideEffect of [true, false])
      assert.equal(judged(body, sideEffect), "error provider_said_no", JSON.stringify(body));
});

test("errors beside data leave a side effect unknown; a read has what it has", () => {
  for (const data of [{ a: 1 }, { a: null, b: 1 }, [], "x"]) {
    assert.equal(judged({ data, errors }), "unknown answer_unclear");
    assert.equal(judged({ data, errors }, false), "success");
  }
});

test("an answer that is none proves nothing", () => {
  for (const body of [null, [], "ok", {}, { data: null }, { data: null, errors: [] }, { errors: "no" }]) {
    assert.equal(judged(body), "unknown answer_unclear", JSON.stringify(body));
    assert.equal(judged(body, false), "error answer_unclear", JSON.stringify(body));
  }
});

test("what the status decided stays decided", () => {
  const unknown: Verdict = { kind: "unknown", reason: "status_503", observation };
  assert.equal(
    holdToGraphql(unknown, true, () => assert.fail("the body is not looked at")),
    unknown,
  );
});

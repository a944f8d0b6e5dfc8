import assert from "node:assert/strict";
import { test } from "node:test";
import { anyValue, object, text, whole } from "../../../packages/request/src/shape.ts";
import { NOTHING_AT_PATH } from "../../../packages/request/src/target.ts";
import { Denied } from "../../kernel/failure.ts";
import { readAnswer, readProblem } from "./read-answer.ts";

const answer = object({ call_id: text, status: whole, body: anyValue });
const read = (json: string) => readAnswer(Buffer.from(json), answer, "POST /v1/x");
const refused = (json: string) =>
  assert.throws(
    () => read(json),
    (error) => error instanceof Denied && error.code === "answer_not_declared",
    json,
  );

test("what a provider wrote is passed on as it is, however large its numbers and whatever its characters", () => {
  const whole = read('{"call_id":"c","status":200,"body":{"id":12345678901234567890}}');
  assert.deepEqual({ ...(whole.body as object) }, { id: Number("12345678901234567890") });
  assert.equal(read('{"call_id":"c","status":200,"body":"\\ud800"}').body, "\ud800");
});

test("what is ours has exactly the declared members, of the declared types, each said once", () => {
  assert.equal(read('{"call_id":"c","status":200,"body":null}').status, 200);
  for (const json of [
    '{"call_id":"c","status":200}',
    '{"call_id":"c","status":200,"body":null,"more":1}',
    '{"call_id":"c","status":"200","body":null}',
    '{"call_id":"c","status":200.0,"body":null}',
    '{"call_id":"c","call_id":"c","status":200,"body":null}',
    '{"call_id":"c","status":12345678901234567890,"body":null}',
    '{"call_id":"a","status":200,"body":"\\ud800","call_id":"c"}',
    '{"call_id":"a","status":200,"body":12345678901234567890,"call_id":"c"}',
    '{"call_id":"a","status":200,"body":{"id":1e999,"id":2}}',
    '{"call_id":"c","status":200,"body":12345678901234567890,"more":1}',
    '\ufeff{"call_id":"c","status":200,"body":null}',
    `{"call_id":"c","status":200,"body":${"[".repeat(80)}${"]".repeat(80)}}`,
    "",
  ])
    refused(json);
  assert.throws(() => readAnswer(Buffer.from([0x22, 0xff, 0x22]), text, "GET /v1/x"), Denied);
});

test("a refusal keeps its code, its findings and what stands beside them; one that is none says so", () => {
  const told = { type: "t", title: "t", status: 409, detail: "d", code: "plan_stale", message: "m", changed: ["x"] };
  const denied = readProblem(Buffer.from(JSON.stringify({ ...told, errors: [], retry_allowed: true })), "POST /v1/x");
  assert.deepEqual([denied.code, denied.message, denied.retryAllowed], ["plan_stale", "m", true]);
  assert.deepEqual({ ...denied.extra }, { changed: ["x"] });
  assert.equal(readProblem(Buffer.from('{"code":"toString","message":"m"}'), "GET /v1/x").code, "internal_fault");
  assert.throws(() => readProblem(Buffer.from('{"error":"no"}'), "GET /v1/x"), Denied);
});

test("a route that the gateway does not have tells that it is of another version", () => {
  const told = { code: "not_found", message: NOTHING_AT_PATH };
  assert.equal(readProblem(Buffer.from(JSON.stringify(told)), "POST /v1/lock/order").code, "answer_not_declared");
  const other = { ...told, message: "this gateway knows no such operation" };
  assert.equal(readProblem(Buffer.from(JSON.stringify(other)), "GET /v1/x").code, "not_found");
});

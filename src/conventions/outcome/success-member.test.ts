import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonValue } from "../../kernel/json.ts";
import { classifyObservation, type Verdict } from "./classify.ts";
import type { Answered } from "./observation.ts";
import { holdToMember } from "./success-member.ts";

const rule = { member: "ok", is: true };

function judged(status: number, body: JsonValue, sideEffect: boolean): Verdict {
  const observation = {
    kind: "answered",
    status,
    headers: {},
    body: Buffer.alloc(0),
    elapsedMs: 1,
  } as unknown as Answered;
  return holdToMember(classifyObservation(observation, sideEffect, "http"), rule, sideEffect, () => body);
}

test("a 2xx answer is a success only where its member says so", () => {
  for (const sideEffect of [true, false]) assert.equal(judged(200, { ok: true }, sideEffect).kind, "success");
});

test("the provider's own no is proof of rejection, whatever the status", () => {
  for (const said of [false, "true", 1, null, {}]) {
    const verdict = judged(200, { ok: said, error: "channel_not_found" }, true);
    assert.deepEqual([verdict.kind, "reason" in verdict && verdict.reason], ["error", "provider_said_no"]);
  }
});

test("an answer that does not say leaves a side effect unknown, and a read failed", () => {
  for (const body of [null, [], "ok", {}, { OK: true }]) {
    assert.equal(judged(200, body, true).kind, "unknown");
    assert.equal(judged(200, body, false).kind, "error");
  }
});

test("what the status already decides stays decided, and no rule changes nothing", () => {
  assert.equal(judged(202, { ok: false }, true).kind, "accepted");
  assert.equal(judged(503, { ok: true }, true).kind, "unknown");
  assert.equal(judged(403, { ok: true }, true).kind, "error");
  const plain = classifyObservation({ kind: "answered", status: 200, headers: {} } as never, true, "http");
  assert.equal(
    holdToMember(plain, null, true, () => assert.fail("the body is not looked at")),
    plain,
  );
});

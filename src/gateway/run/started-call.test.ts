import assert from "node:assert/strict";
import { test } from "node:test";
import { type CallResult, WrittenJson, writeResult } from "../../conventions/outcome/result.ts";
import { defaults } from "../../kernel/defaults.ts";
import { StartedCall } from "./started-call.ts";

const NAMES = { id: "call_1", runId: "run_1", callerKey: "c", action: "acme.thing.get", createdAt: "now" } as never;

const resultWith = (body: unknown): CallResult =>
  ({
    call_id: "call_1",
    outcome: "success",
    confirmed: false,
    cost: undefined,
    response: { status: 200, body },
  }) as never;

/** Ended with this result: what whoever waited had, and the call. */
async function endedWith(result: CallResult) {
  const call = new StartedCall(NAMES);
  call.done = Promise.resolve(result).then((settled) => {
    call.end(settled);
    return settled;
  });
  return { waited: await call.done, call };
}

test("a small result is held as its text, and is the same for whoever asks again", async () => {
  const result = resultWith({ id: "7", __proto__: null, list: [1, "ü\u2028"] });
  const { waited, call } = await endedWith(result);
  assert.equal(waited, result, "who waits reads nothing twice");
  assert.equal(call.written, writeResult(result));
  assert.equal(call.resultBytes, call.written?.length);
  assert.equal(call.state, "done");
  const again = await call.done;
  assert.notEqual(again, result);
  assert.equal(JSON.stringify(again), call.written);
});

test("a result that is one large text already is held as it is", async () => {
  const text = "x".repeat(defaults.smallAnswerBytes + 1);
  for (const body of [new WrittenJson([text]), text]) {
    const { call } = await endedWith(resultWith(body));
    assert.equal(call.written, null);
    assert.ok(call.resultBytes > defaults.smallAnswerBytes);
    assert.equal((await call.done).response?.body, body);
  }
});

test("once its room was taken, nothing of the result is left, and whoever asks is told", async () => {
  const { call } = await endedWith(resultWith("small"));
  call.done = Promise.reject(new Error("gone"));
  assert.equal(call.written, null);
  await assert.rejects(call.done, /gone/);
});

test("a call that failed says so to whoever asks later", async () => {
  const call = new StartedCall(NAMES);
  call.done = Promise.reject(new Error("refused"));
  await assert.rejects(call.done, /refused/);
  await assert.rejects(call.done, /refused/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { CallResult } from "../../conventions/outcome/result.ts";
import type { Call } from "../../gateway/run/run.ts";
import type { Waking } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { answerCall, waitFor } from "./wait.ts";

function callOf(state: Call["state"], done: Promise<CallResult>): Call {
  done.catch(() => undefined);
  return {
    id: "call_1",
    runId: "run_1",
    callerKey: "c",
    action: "acme.thing.get",
    createdAt: "",
    state,
    done,
  } as never;
}

const noWait = { sleep: () => setImmediate() };

test("a call that was refused at once answers with its refusal, also where nobody waits", async () => {
  const call = callOf("denied", Promise.reject(new Denied("action_not_permitted", "no")));
  const { done: _, ...unanswered } = call;
  const slow = { ...unanswered, done: new Promise<CallResult>((_resolve, reject) => call.done.catch(reject)) } as Call;
  await assert.rejects(answerCall(slow, undefined), { code: "action_not_permitted" });
});

test("a call that waits for its person answers 202 with its status path, and never a refusal to retry", async () => {
  const call = callOf("pending", new Promise(() => undefined));
  const answer = await answerCall(call, await waitFor(call.done, 0, noWait));
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.headers, { location: "/v1/calls/call_1" });
});

test("a call that ended while the wait ran out answers its result", async () => {
  const result = { call_id: "call_1", outcome: "success" } as unknown as CallResult;
  const answer = await answerCall(callOf("done", Promise.resolve(result)), undefined);
  assert.deepEqual([answer.status, answer.body], [200, result]);
});

test("whoever waited for a call that ended leaves no timer behind", async () => {
  let woken = false;
  const sleep = {
    sleep: (_ms: number, told?: Waking) =>
      new Promise<void>((resolve) =>
        told?.addEventListener("abort", () => {
          woken = true;
          resolve();
        }),
      ),
  };
  assert.equal(await waitFor(Promise.resolve("done"), 30_000, sleep), "done");
  assert.equal(woken, true);
});

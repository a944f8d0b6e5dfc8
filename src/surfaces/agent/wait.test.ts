import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { createAnswerRoom } from "../../gateway/answer-room.ts";
import type { Call } from "../../gateway/run/run.ts";
import type { Waking } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { endingOf } from "../plane/ending.ts";
import type { AgentContext } from "./context.ts";
import { answerCall, answerWaiting, waitFor } from "./wait.ts";

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
    asking: 0,
    wait: null,
    resultBytes: 0,
  } as never;
}

/** Whoever asks, and how often its connection was ended. */
class Asker {
  readonly #heard: (() => void)[] = [];
  ended = 0;
  readonly context = {
    waitMs: 0,
    onGone: (hear: () => void) => void this.#heard.push(hear),
    connection: this.#connection(),
  } as unknown as AgentContext;
  /** What it has read so far. */
  sentBytes = 0;
  #connection(): AgentContext["connection"] {
    const asker = this;
    return {
      destroy: () => asker.ended++,
      get sentBytes() {
        return asker.sentBytes;
      },
    };
  }
  leave(): void {
    for (const hear of this.#heard) hear();
  }
}

const gateway = { answers: createAnswerRoom(100) };
const { context } = new Asker();

const noWait = { sleep: () => setImmediate() };

test("a call that was refused at once answers with its refusal, also where nobody waits", async () => {
  const call = callOf("denied", Promise.reject(new Denied("action_not_permitted", "no")));
  const { done: _, ...unanswered } = call;
  const slow = { ...unanswered, done: new Promise<CallResult>((_resolve, reject) => call.done.catch(reject)) } as Call;
  await assert.rejects(async () => answerCall(gateway, slow, undefined, context, noWait), {
    code: "action_not_permitted",
  });
});

test("a call that waits for its person answers 202 with its status path, and never a refusal to retry", async () => {
  const call = callOf("pending", new Promise(() => undefined));
  const answer = await answerWaiting(gateway, call, context, noWait);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.headers, { location: "/v1/calls/call_1" });
});

test("a call that ended while the wait ran out answers its result", async () => {
  const result = { call_id: "call_1", outcome: "success" } as unknown as CallResult;
  const answer = await answerCall(gateway, callOf("done", Promise.resolve(result)), undefined, context, noWait);
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
  assert.equal(await waitFor(Promise.resolve("done"), { ...context, waitMs: 30_000 }, sleep), "done");
  assert.equal(woken, true);
});

/** Sleeps until it is told how long was slept. */
function heldSleep() {
  const slept: { ms: number; wake(): void }[] = [];
  return {
    slept,
    sleep: (ms: number, told?: Waking) =>
      new Promise<void>((resolve) => {
        slept.push({ ms, wake: resolve });
        told?.addEventListener("abort", resolve);
      }),
  };
}

test("whoever is gone waits no longer, and leaves nothing with what it waited for", async () => {
  const { sleep, slept } = heldSleep();
  const work = Promise.withResolvers<string>();
  const [first, second] = [new Asker(), new Asker()];
  const waits = [first, second].map((asker) => waitFor(work.promise, { ...asker.context, waitMs: 600_000 }, { sleep }));
  assert.deepEqual([slept.length, endingOf(work.promise).waiting.size], [2, 2]);
  first.leave();
  assert.equal(await waits[0], undefined);
  assert.equal(endingOf(work.promise).waiting.size, 1);
  work.resolve("done");
  assert.equal(await waits[1], "done");
  assert.equal(endingOf(work.promise).waiting.size, 0);
  assert.equal(await waitFor(work.promise, { ...first.context, waitMs: 0 }, { sleep }), "done");
  const refused = Promise.reject(new Denied("approval_denied", "no"));
  await assert.rejects(waitFor(refused, { ...first.context, waitMs: 600_000 }, { sleep }), { code: "approval_denied" });
});

function largeCall(done: Promise<CallResult>): Call {
  return Object.assign(callOf("done", done), { resultBytes: defaults.smallAnswerBytes + 1 });
}

const large = { call_id: "call_1", outcome: "success" } as unknown as CallResult;

test("whoever waited for a large answer has the place of its call until it has read it; the next waits for one", async () => {
  const answers = createAnswerRoom(1_000);
  const call = largeCall(Promise.resolve(large));
  answers.take(call, 1_000, () => undefined);
  const [first, second] = [new Asker(), new Asker()];
  const { sleep } = heldSleep();
  assert.equal((await answerCall({ answers }, call, large, first.context, { sleep })).status, 200);
  assert.deepEqual(answers.status(), { heldBytes: 1_000, waiting: 0 });
  const later = answerCall({ answers }, call, undefined, second.context, { sleep });
  await setImmediate();
  assert.equal(answers.status().waiting, 1);
  first.leave();
  assert.equal((await later).status, 200);
  second.leave();
  assert.deepEqual(answers.status(), { heldBytes: 0, waiting: 0 });
});

test("whoever is gone before there is room for its answer waits no more, and holds nothing", async () => {
  const answers = createAnswerRoom(1_000);
  answers.take({ callerKey: "another" }, 1_000, () => undefined);
  const asker = new Asker();
  const gone = answerCall({ answers }, largeCall(Promise.resolve(large)), undefined, asker.context, noWait);
  asker.leave();
  assert.equal((await gone).status, 202);
  assert.deepEqual(answers.status(), { heldBytes: 1_000, waiting: 0 });
});

test("whoever does not read a large answer is let go of, and whoever has read it is not", async () => {
  const answers = createAnswerRoom(1_000);
  const [reader, other] = [new Asker(), new Asker()];
  const { sleep, slept } = heldSleep();
  await answerCall({ answers }, largeCall(Promise.resolve(large)), large, reader.context, { sleep });
  reader.leave();
  await answerCall({ answers }, largeCall(Promise.resolve(large)), large, other.context, { sleep });
  assert.deepEqual(
    slept.map(({ ms }) => ms),
    [defaults.answerReadMs, defaults.answerReadMs],
  );
  for (const { wake } of slept) wake();
  await setImmediate();
  assert.deepEqual([reader.ended, other.ended], [0, 1]);
});

test("whoever reads on is not let go of, however long it takes, until it stops", async () => {
  const answers = createAnswerRoom(1_000);
  const reader = new Asker();
  const { sleep, slept } = heldSleep();
  await answerCall({ answers }, largeCall(Promise.resolve(large)), large, reader.context, { sleep });
  for (let minute = 0; minute < 3; minute++) {
    reader.sentBytes += defaults.answerReadBytes;
    slept.shift()?.wake();
    await setImmediate();
    assert.deepEqual([reader.ended, slept.length], [0, 1]);
  }
  reader.sentBytes += defaults.answerReadBytes - 1;
  slept.shift()?.wake();
  await setImmediate();
  assert.deepEqual([reader.ended, slept.length], [1, 0]);
});

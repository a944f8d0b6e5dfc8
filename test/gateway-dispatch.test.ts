import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import type { NewEvent } from "../src/audit/event.ts";
import type { CallRequest } from "../src/gateway/dispatch.ts";
import type { HttpTransport, HubGate } from "../src/gateway/ports.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { isoTime } from "../src/kernel/clock.ts";
import { Denied } from "../src/kernel/failure.ts";
import { createIds } from "../src/kernel/ids.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
/** What the hub was asked before an answer, and what it makes the answer wait for. */
let held: { asked: boolean[]; holds: boolean; until: Promise<void>; waitMs: number };
/** How long each send was let take. */
let timeouts: number[];

const READ: CallRequest = { action: "acme.thing.get", input: { id: "1" } };
const POST: CallRequest = { action: "acme.thing.post", input: { name: "x" } };

beforeEach(async () => {
  provider = await startProvider();
  held = { asked: [], holds: false, until: Promise.resolve(), waitMs: 0 };
  timeouts = [];
  const hub: HubGate = {
    admit: () => undefined,
    beforeSend: () => bench.time.advance(held.waitMs),
    count: () => null,
    holdsAnswers: () => held.holds,
    beforeAnswer(sideEffect) {
      held.asked.push(sideEffect);
      return held.until;
    },
  };
  const wrapHttp = (http: HttpTransport): HttpTransport => ({
    send(receipt, request, credential, limits) {
      timeouts.push(limits.timeoutMs);
      return http.send(receipt, request, credential, limits);
    },
  });
  bench = await startBench(consequentialPack(provider.origin), { hub, wrapHttp });
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
  run = await bench.openApproved(caller, [READ.action, POST.action], { sideEffects: 40, attempts: 200 });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const start = (request: CallRequest) => bench.gateway.startCall(caller, run.id, request);

/** Something that whoever asked wants said in the log. */
function note(reason: string): NewEvent {
  const event_id = createIds(bench.time.clock, { bytes: randomBytes }).next("evt");
  const occurred_at = isoTime(bench.time.clock.wallMs());
  return { event_id, occurred_at, event_type: "gateway_locked", operator: null, reason };
}

const notes = (): readonly string[] =>
  bench.events().flatMap((event) => (event.event_type === "gateway_locked" ? [event.reason] : []));

test("a run counts what became of its calls, and names those that nobody knows the end of", async () => {
  assert.equal((await start(READ).done).outcome, "success");
  provider.answer((_request, response) => answerJson(response, 404, {}));
  assert.equal((await start(READ).done).outcome, "error");
  await assert.rejects(start({ action: "acme.thing.change", input: {} }).done, Denied);
  provider.answer((_request, response) => void response.socket?.destroy());
  const lost = start(POST);
  assert.equal((await lost.done).outcome, "unknown");
  const unknownCalls = [lost.id];
  assert.deepEqual({ ...run.tally }, { calls: 4, success: 1, error: 1, denied: 1, unknown: 1, unknownCalls });
});

test("whoever is told that a call was taken back finds it unsent, at whatever moment that was", async () => {
  let [back, late] = [0, 0];
  for (let turns = 0; turns < 200 && late < 4; turns++) {
    const before = provider.received.length;
    const call = start({ ...POST, input: { name: `x${turns}` } });
    // First turns of promises alone, so that none is passed over; then such that let input and output happen.
    for (let turn = 0; turn < turns; turn++)
      await (turn < 60 ? Promise.resolve() : new Promise((next) => setImmediate(next)));
    if (await bench.gateway.takeBack(caller, call.id)) {
      await assert.rejects(call.done, denies("call_cancelled"));
      assert.equal(provider.received.length, before, `after ${turns} turns`);
      back++;
    } else {
      assert.equal((await call.done).outcome, "success");
      late++;
    }
  }
  assert.ok(back > 0 && late > 0, `${back} taken back, ${late} too late`);
});

test("what a call comes from stands in the log once, with its intent or with its refusal", async () => {
  await start({ ...READ, context: () => note("sent") }).done;
  assert.deepEqual(notes(), ["sent"]);
  await assert.rejects(start({ action: "acme.thing.change", input: {}, context: () => note("refused") }).done, Denied);
  assert.deepEqual(notes(), ["sent", "refused"]);
});

test("what is to be said with the end of a read is said with that of one that was answered well, and no other", async () => {
  const closing = (reason: string) => ({ closing: () => ({ events: [note(reason)] }) });
  await start({ ...READ, ...closing("read") }).done;
  await start({ ...POST, ...closing("write") }).done;
  provider.answer((_request, response) => answerJson(response, 404, {}));
  await start({ ...READ, ...closing("error") }).done;
  provider.answer((_request, response) => answerJson(response, 200, {}));
  held.holds = true;
  await start({ ...READ, ...closing("held") }).done;
  assert.deepEqual(notes(), ["read"]);
});

test("an answer waits for the hub, and one of what never left does not", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  held.until = promise;
  let answered = false;
  const call = start(READ);
  void call.done.then(() => (answered = true));
  await untilDone(bench.time, 0, () => answered || held.asked.length > 0);
  for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
  assert.equal(answered, false);
  resolve();
  await call.done;
  await start(POST).done;
  assert.deepEqual(held.asked, [false, true]);
  await provider.close();
  let over = false;
  const last = start(READ);
  void last.done.then(() => (over = true));
  // A read that did not leave is tried again after a while.
  await untilDone(bench.time, 1_000, () => over);
  assert.equal((await last.done).transport_observation.kind, "never_sent");
  assert.deepEqual(held.asked, [false, true]);
});

test("what the hub took of the run's time is not left for the send", async () => {
  const short = await bench.openApproved(caller, [POST.action], { durationMs: 3_000 });
  const post = (name: string) => bench.gateway.startCall(caller, short.id, { ...POST, input: { name } }).done;
  await post("a");
  held.waitMs = 1_500;
  await post("b");
  assert.deepEqual(timeouts, [2_000, 1_500]);
});

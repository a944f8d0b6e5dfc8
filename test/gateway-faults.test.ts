import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { TransportObservation } from "../src/conventions/outcome/observation.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { CallRequest } from "../src/gateway/dispatch.ts";
import type { AnswerRoom, HttpTransport } from "../src/gateway/ports.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Faults of the gateway's own around a send: what left may have happened, whatever goes wrong in here. */
let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
/** What becomes of an answer on its way in. */
let spoil: (seen: TransportObservation) => TransportObservation;
let room: AnswerRoom | undefined;
const traffic = { calls: 0 };

const READ: CallRequest = { action: "acme.thing.get", input: { id: "1" } };
const POST: CallRequest = { action: "acme.thing.post", input: { name: "x" } };

beforeEach(async () => {
  provider = await startProvider();
  spoil = (seen) => seen;
  const wrapHttp = (http: HttpTransport): HttpTransport => ({
    async send(receipt, request, credential, limits) {
      room = limits.room;
      return spoil(await http.send(receipt, request, credential, limits));
    },
  });
  bench = await startBench(consequentialPack(provider.origin), { wrapHttp, traffic });
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
  run = await bench.openApproved(caller, [READ.action, POST.action]);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const start = (request: CallRequest): Promise<CallResult> => bench.gateway.startCall(caller, run.id, request).done;
const ends = () => bench.eventsOf("action_finished").map(({ outcome, reason }) => [outcome, reason]);
const unforeseen = (): never => {
  throw new TypeError("not foreseen");
};

test("a fault while a send is under way proves nothing: a write is unknown and holds its claim, a read failed", async () => {
  spoil = unforeseen;
  const write = await start(POST);
  assert.deepEqual([write.outcome, write.transport_observation.reason], ["unknown", "internal_fault"]);
  await assert.rejects(start(POST), denies("outcome_unsettled"));
  assert.equal((await start(READ)).outcome, "error");
  assert.equal(provider.received.length, 2);
  assert.deepEqual(ends(), [
    ["unknown", "internal_fault"],
    ["failed", "internal_fault"],
  ]);
});

test("an answer that cannot be judged is withheld: it may be the receipt of a write, and a read failed", async () => {
  const get = (_headers: unknown, name: string | symbol) => (name === "location" ? unforeseen() : undefined);
  const unreadable = new Proxy({}, { get });
  spoil = (seen) => ({ ...seen, status: 307, headers: unreadable }) as TransportObservation;
  const write = await start(POST);
  assert.deepEqual([write.outcome, write.response?.body_kind], ["unknown", "withheld"]);
  await assert.rejects(start(POST), denies("outcome_unsettled"));
  assert.equal((await start(READ)).outcome, "error");
  const reason = "internal_fault: TypeError";
  assert.deepEqual(ends(), [
    ["unknown", reason],
    ["failed", reason],
  ]);
});

test("whoever fails at an answer takes nothing from it: its end is in the log", async () => {
  await assert.rejects(start({ ...READ, closing: unforeseen }), { message: "not foreseen" });
  assert.deepEqual(ends(), [["succeeded", null]]);
});

test("a call is counted while it is on its way, whatever becomes of it", async () => {
  const during: number[] = [];
  provider.answer((_request, response) => {
    during.push(traffic.calls);
    answerJson(response, 200, {});
  });
  await Promise.all([start(READ), start({ ...READ, input: { id: "2" } })]);
  await assert.rejects(start({ ...READ, closing: unforeseen }));
  assert.deepEqual([during[1], during[2], traffic.calls], [2, 1, 0]);
});

test("a large answer has its place until whoever asked has it, and one that is refused gives it back at once", async () => {
  const large = { text: "x".repeat(400_000) };
  provider.answer((_request, response) => answerJson(response, 200, large));
  const held = (): number | undefined => room?.status().heldBytes;
  spoil = (seen) => {
    assert.ok((held() ?? 0) >= 400_000);
    return seen;
  };
  await start(READ);
  assert.equal(held(), 0, "nobody waits for it");
  await assert.rejects(start({ ...READ, closing: unforeseen }));
  assert.equal(held(), 0);
});

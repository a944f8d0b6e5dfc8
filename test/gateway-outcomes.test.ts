import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Run } from "../src/gateway/run/run.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let write: (response: ServerResponse) => unknown;
let shown: JsonObject;

beforeEach(async () => {
  provider = await startProvider();
  write = (response) => answerJson(response, 200, { id: "7" });
  shown = { id: "7", name: "new" };
  provider.answer(({ method }, response) => (method === "POST" ? write(response) : answerJson(response, 200, shown)));
  caller = scriptedCaller();
  bench = await startBench(consequentialPack(provider.origin), {
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
  run = await openApproved();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(limits = {}): Promise<Run> {
  return bench.openApproved(caller, ["acme.thing.change", "acme.thing.post", "acme.thing.get"], limits);
}

async function call(action: string, input: JsonObject): Promise<CallResult> {
  let done = false;
  const work = bench.gateway.startCall(caller, run.id, { action: `acme.${action}`, input }).done;
  work.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 100, () => done);
  return work;
}

const change = (id = "7"): Promise<CallResult> => call("thing.change", { id, name: "new" });
const types = (): readonly string[] => bench.events().map(({ event_type }) => event_type);
const posts = (): number => provider.received.filter(({ method }) => method === "POST").length;

test("confirmed success: a receipt, and a later read that shows the expected state", async () => {
  const { outcome, confirmed } = await change();
  assert.deepEqual([outcome, confirmed], ["success", true]);
  assert.ok(types().includes("reconciled_success"));
});

test("a receipt alone is an unconfirmed success: where no read is named, and where the read shows something else", async () => {
  shown = { id: "7", name: "old" };
  const other = await change();
  assert.deepEqual([other.outcome, other.confirmed], ["success", false]);
  const unread = await call("thing.post", { name: "x" });
  assert.deepEqual([unread.outcome, unread.confirmed], ["success", false]);
  assert.ok(!types().includes("reconciled_success"));
});

test("confirmed failure: the destination proves the rejection, or it is proven that nothing left", async () => {
  write = (response) => answerJson(response, 422, { code: "no" });
  const rejected = await change();
  assert.deepEqual([rejected.outcome, rejected.confirmed, rejected.operation_id], ["error", false, null]);
  await provider.close();
  const unsent = await change();
  assert.deepEqual([unsent.outcome, unsent.transport_observation.kind], ["error", "never_sent"]);
  assert.equal(unsent.operation_id, null);
  provider = await startProvider();
});

test("a connection that fails is external activity: every try of it counts and is in the log", async () => {
  await bench.close();
  // A port that only root could listen on, and nobody does.
  const origin = "http://127.0.0.1:1";
  const credentials = [["acme-token", { eachUse: false, disabled: false, origin }]] as const;
  bench = await startBench(consequentialPack(origin), { credentials });
  run = await openApproved();
  const { outcome, transport_observation } = await call("thing.post", { name: "x" });
  assert.deepEqual(
    [outcome, transport_observation.kind, transport_observation.reason],
    ["error", "never_sent", "connect_refused"],
  );
  assert.deepEqual([run.budget.attemptsUsed, run.budget.sideEffectAttempts], [1, 1]);
  await call("thing.get", { id: "7" });
  assert.deepEqual([run.budget.attemptsUsed, run.budget.sideEffectAttempts], [4, 1]);
  const tries = [bench.eventsOf("intent_accepted"), bench.eventsOf("action_finished")].map(({ length }) => length);
  assert.deepEqual(tries, [4, 4]);
});

test("unknown: it may have happened, so that retries pause and the evidence is kept", async () => {
  for (const answer of [
    (response: ServerResponse) => void response.destroy(),
    (response: ServerResponse) => answerJson(response, 502, {}),
  ]) {
    write = answer;
    const before = posts();
    const { outcome, confirmed, operation_id, reconcile, guidance } = await change(`t${before}`);
    assert.deepEqual([outcome, confirmed], ["unknown", false]);
    assert.ok(operation_id !== null && reconcile !== null && guidance !== null);
    assert.equal(posts(), before + 1);
  }
  assert.ok(types().includes("outcome_unobserved"));
});

test("not attempted: what the gateway refuses never reaches a transport, and has no intent", async () => {
  const intents = types().filter((type) => type === "intent_accepted").length;
  await assert.rejects(call("report.create", { account: "a1" }), denies("action_not_permitted"));
  run = await openApproved({ sideEffects: 0 });
  await assert.rejects(change(), denies("side_effects_exhausted"));
  assert.equal(posts(), 0);
  assert.equal(types().filter((type) => type === "intent_accepted").length, intents);
});

test("whatever a provider answers, no single action is reported as partial, and nothing is confirmed without its read", async () => {
  run = await openApproved({ sideEffects: 100, attempts: 100 });
  shown = { id: "7", name: "old" };
  for (const status of [200, 201, 202, 204, 206, 207, 300, 304, 400, 404, 409, 425, 500, 599]) {
    write = (response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(status === 204 || status === 304 ? undefined : JSON.stringify({ outcome: "partial", name: "new" }));
    };
    const { outcome, confirmed } = await change(`t${status}`);
    assert.ok(["success", "error", "unknown"].includes(outcome), `${status}: ${outcome}`);
    assert.equal(confirmed, false, String(status));
  }
});

test("Retry-After is honoured within the deadline, and never past it", async () => {
  const answers: string[] = ["4"];
  write = (response) => {
    const wait = answers.shift();
    if (wait === undefined) return answerJson(response, 200, { id: "7" });
    response.writeHead(429, { "retry-after": wait });
    return response.end();
  };
  const startedMs = bench.time.clock.bootMs();
  assert.equal((await change()).outcome, "success");
  assert.ok(bench.time.clock.bootMs() - startedMs >= 4_000);
  assert.equal(posts(), 2);
  run = await openApproved({ durationMs: 60_000 });
  answers.push("61");
  const late = await change();
  assert.deepEqual([late.outcome, late.response?.status], ["error", 429]);
  assert.equal(posts(), 3, "a wait that outlasts the run is not begun");
});

test("nothing is sent again under a token that the provider has forgotten, however long it said to wait or a person thought", async () => {
  await bench.close();
  const short = consequentialPack(provider.origin).replace("window_s: 86400", "window_s: 60");
  const credential = { eachUse: false, disabled: false, origin: provider.origin };
  bench = await startBench(short, { credentials: [["acme-token", credential]] });
  run = await openApproved();
  const waits: string[] = [];
  write = (response) => {
    const wait = waits.shift();
    if (wait === undefined) return answerJson(response, 200, { id: "7" });
    return response.writeHead(503, { "retry-after": wait }).end();
  };
  waits.push("5");
  assert.equal((await change("t1")).outcome, "success");
  assert.equal(posts(), 2);
  // It would leave before the end, and might arrive after it: a send may take two seconds.
  waits.push("59");
  assert.equal((await change("t2")).outcome, "unknown");
  assert.equal(posts(), 3);
  bench.credentials.set("acme-token", { ...credential, eachUse: true });
  waits.push("5");
  const late = change("t3");
  await bench.approve();
  await untilDone(bench.time, 100, () => posts() === 4 && bench.gateway.desk.list().length === 1);
  await bench.time.advance(60_000);
  await bench.approve();
  assert.equal((await late).outcome, "unknown");
  assert.equal(posts(), 4);
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { EventOf } from "../../../src/audit/event.ts";
import type { Operation } from "../../../src/gateway/operation/operations.ts";
import type { OperationId } from "../../../src/kernel/ids.ts";
import { openCallbacks } from "../../../test/support/callbacks.ts";
import { scriptedCaller } from "../../../test/support/caller.ts";
import { untilDone } from "../../../test/support/clock.ts";
import { startBench } from "../../../test/support/gateway.ts";
import { startStand } from "./stand.ts";

const PACK = readFileSync(join(import.meta.dirname, "../../../packs/reference.yaml"), "utf8");

/** The reference provider with its faults, its own pack, and a gateway whose listener it sends its webhooks to. */
async function startPair(t: TestContext) {
  const stand = await startStand(t);
  const { origin, webhookSecret } = stand.reference;
  const text = PACK.replace(/^ {2}origin: .*$/m, `  origin: ${origin}`)
    // So slow that whatever is seen sooner was seen because of a webhook.
    .replace("poll: { first_s: 2, cap_s: 30, max_checks: 30 }", "poll: { first_s: 90, cap_s: 90, max_checks: 30 }");
  assert.match(text, /first_s: 90/);
  const bench = await startBench(text, {
    time: stand.time,
    token: stand.token,
    credentials: [["reference", { eachUse: false, disabled: false, origin }]],
    callbackKeys: { "reference reference-webhook": Buffer.from(webhookSecret.slice("whsec_".length), "base64") },
  });
  const door = await openCallbacks(bench);
  stand.reference.sendWebhooksTo(`${door.url}/callbacks/reference`);
  t.after(async () => {
    door.close();
    await bench.close();
  });
  const caller = scriptedCaller();
  const run = await bench.openRun(caller, ["reference.report.create"], { sideEffects: 10 });
  await bench.approve();
  await run.admission?.session;
  const range = { start: "2026-01-01", end: "2026-01-31" };
  const create = async (account: string): Promise<Operation> => {
    const input = { account, range, format: "csv" };
    const call = bench.gateway.startCall(caller, run.id, { action: "reference.report.create", input });
    let done = false;
    call.done.finally(() => (done = true)).catch(() => undefined);
    await untilDone(bench.time, 0, () => done);
    return bench.gateway.operations.get((await call.done).operation_id as OperationId);
  };
  const effects = (): readonly string[] =>
    bench
      .events()
      .filter((event): event is EventOf<"callback_received"> => event.event_type === "callback_received")
      .map(({ effect }) => effect);
  const polls = (operation: Operation): number =>
    bench.sent.filter((line) => line.endsWith(`/v1/jobs/${operation.remoteJobId}`)).length;
  return { stand, bench, create, effects, polls };
}

/** The record without what depends on when somebody looked. */
function recordOf({ state, remoteState, remoteJobId, resultDigest, history, problem }: Operation) {
  return {
    ...{ state, remoteState, problem, named: remoteJobId !== null, result: resultDigest !== null },
    path: history.map(({ to, cause }) => [to, cause]),
  };
}

test("the webhook of the end of a job makes the end known before the schedule would", async (t) => {
  const { bench, create, effects, polls } = await startPair(t);
  const operation = await create("a1");
  const before = bench.time.clock.bootMs();
  await untilDone(bench.time, 500, () => operation.state === "succeeded");
  assert.ok(bench.time.clock.bootMs() - before < 40_000);
  assert.equal(polls(operation), 1, "the one read that it led to");
  assert.deepEqual(effects(), ["read_scheduled"]);
});

test("webhooks that repeat, change their order or get lost lead to the record that there is without them", async (t) => {
  const { stand, bench, create, effects } = await startPair(t);
  stand.reference.sendWebhooksTo(null);
  const plain = await create("without");
  await untilDone(bench.time, 5_000, () => plain.state === "succeeded");
  assert.deepEqual(effects(), []);

  for (const fault of ["webhook_repeat", "webhook_reorder", "webhook_lose"]) {
    const pair = await startPair(t);
    await pair.stand.arm(fault, { times: 2 });
    const operations = [await pair.create("one"), await pair.create("two"), await pair.create("three")];
    await untilDone(pair.bench.time, 1_000, () => operations.every(({ state }) => state === "succeeded"));
    for (const operation of operations) assert.deepEqual(recordOf(operation), recordOf(plain), fault);
    const told = pair.effects().filter((effect) => effect !== "repeated");
    assert.equal(told.length, fault === "webhook_lose" ? 1 : 3, `${fault}: ${pair.effects().join()}`);
    if (fault === "webhook_repeat") assert.ok(pair.effects().includes("repeated"));
  }
});

test("a webhook about something that is no job of ours is recorded and changes nothing", async (t) => {
  const { stand, bench, effects } = await startPair(t);
  const reply = await stand.ask("POST", "/v1/reports", {
    body: { account: "another client", range: { start: "2026-01-01", end: "2026-01-31" }, format: "csv" },
  });
  assert.equal(reply.status, 202);
  const sent = bench.sent.length;
  await untilDone(bench.time, 500, () => effects().length === 1);
  assert.deepEqual(effects(), ["job_unknown"]);
  assert.equal(bench.sent.length, sent);
});

test("a webhook while the gateway is locked is refused, and the provider's next try is taken", async (t) => {
  const { bench, create } = await startPair(t);
  const operation = await create("locked");
  const { id } = operation;
  await bench.gateway.lock("lunch", "ada");
  const refused = () => bench.events().filter(({ event_type }) => event_type === "callback_refused").length;
  await untilDone(bench.time, 500, () => refused() > 0);
  assert.throws(() => bench.gateway.operations.get(id));
  await bench.unlock();
  const again = bench.gateway.operations.get(id);
  await untilDone(bench.time, 500, () => again.state === "succeeded");
  assert.equal(again.custodian, true, "the run ended with the lock, and stays ended");
});

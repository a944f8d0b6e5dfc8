import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import type { AuditEvent } from "../src/audit/event.ts";
import type { Holder } from "../src/conventions/outcome/claim.ts";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { Run } from "../src/gateway/run/run.ts";
import type { Step } from "../src/gateway/steps.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, manualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What a start makes of effects that were on their way, and of what they held. */
let provider: TestProvider;
let bench: Bench;
let folder: string;
let time: ManualTime;
let caller: ScriptedCaller;
let run: Run;
/** Every step of this life. */
let steps: Step[];

const ACTIONS = ["acme.thing.post", "acme.thing.change", "acme.report.create", "acme.report.resume"];
const POST = { action: "acme.thing.post", input: { name: "x" } };
const REPORT = { action: "acme.report.create", input: { account: "a1" } };

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  time = manualTime();
  caller = scriptedCaller();
  await startGateway();
  run = await bench.openApproved(caller, ACTIONS, { spendCents: 100, sideEffects: 10 });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(change = (pack: string): string => pack): Promise<void> {
  steps = [];
  // However slow the machine is, what has no answer is on its way until the gateway is killed.
  const pack = consequentialPack(provider.origin)
    .replace("timeout_s: 2", "timeout_s: 60")
    .replace("  thing.post:\n", "  thing.post:\n    max_cost_cents: 40\n");
  bench = await startBench(change(pack), {
    ...{ folder, time },
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    steps: { before: (step) => void steps.push(step), after: () => undefined },
  });
}

/** Killed as it stands, and started again: what the new life told. */
async function startAgain(change?: (pack: string) => string): Promise<readonly AuditEvent[]> {
  const before = bench.events().length;
  await bench.abandon();
  await startGateway(change);
  return bench.events().slice(before);
}

type Asked = Parameters<Bench["gateway"]["startCall"]>[2];

/** A call that the provider takes and does not answer. */
async function leave(asked: Asked): Promise<void> {
  provider.answer(() => undefined);
  const before = provider.received.length;
  bench.gateway.startCall(caller, run.id, asked).done.catch(() => undefined);
  if (asked.repeatOf !== undefined) await bench.approve();
  await untilDone(time, 0, () => provider.received.length > before);
}

/** A call whose answer is lost. */
async function lose(asked: Asked): Promise<OperationId> {
  provider.answer((_request, response) => void response.destroy());
  const { operation_id } = await bench.gateway.startCall(caller, run.id, asked).done;
  return operation_id as OperationId;
}

const holders = (): readonly Holder[] =>
  bench.rows("notes", "claim").flatMap((body) => body["holders"] as unknown as readonly Holder[]);
const held = () => holders().map(({ operation_id, under_way }) => [operation_id, under_way]);
const onlyOne = (): Operation => {
  const [operation, ...others] = bench.gateway.operations.list();
  assert.equal(others.length, 0);
  return operation ?? assert.fail("no operation");
};

test("a write that was on its way goes on as one operation by the name of its attempt, with all that it had", async () => {
  await leave(POST);
  const [{ event_id: attempt } = assert.fail()] = bench.eventsOf("intent_accepted");
  const told = await startAgain();
  const operation = onlyOne();
  assert.equal(operation.id, attempt.replace(/^[a-z]+_/, "op_"));
  assert.deepEqual([operation.attemptId, operation.credential], [attempt, "acme-token"]);
  assert.deepEqual([operation.party, operation.custodian], [caller.key, true]);
  assert.deepEqual([operation.held, operation.heldOn.length], [40, "2026-01-01".length]);
  assert.deepEqual([operation.problem?.code, operation.nextPoll], ["operation_not_reconcilable", null]);
  assert.deepEqual(
    told.flatMap((event) => (event.event_type === "operation_transition" ? [event.to] : [])),
    ["create_pending", "create_unknown"],
  );
  assert.deepEqual(held(), [[operation.id, false]]);
  const [{ evidence } = assert.fail()] = holders();
  assert.equal(operation.claim, evidence["claim"]);

  assert.deepEqual(await startAgain(), [], "once that is known a start has nothing to tell");
  assert.ok(!steps.includes("recovery.finished"));
  assert.deepEqual([onlyOne().problem?.code, onlyOne().nextPoll], ["operation_not_reconcilable", null]);
});

test("a repeat that was on its way holds beside the one that it went past", async () => {
  const first = await lose(POST);
  await leave({ ...POST, repeatOf: first });
  await startAgain();
  const ids = bench.gateway.operations.list().map(({ id }) => id);
  assert.deepEqual([ids.length, held()], [2, [first, ids.find((id) => id !== first)].map((id) => [id, false])]);
});

test("what ended lets go of its claim at the next start, and what failed may be resumed and keeps it", async () => {
  const posts = [await lose(POST), await lose({ ...POST, input: { name: "y" } })];
  provider.answer(({ method }, response) =>
    method === "POST"
      ? answerJson(response, 202, { job_id: "job-1", state: "queued" })
      : answerJson(response, 200, { job_id: "job-1", state: "cancelled" }),
  );
  const { operation_id: job } = await bench.gateway.startCall(caller, run.id, REPORT).done;
  await untilDone(time, 500, () => bench.rows("operations", "cancelled").length === 1);
  const [happened = "", not = ""] = posts;
  await bench.gateway.settle(bench.settlement(happened, true));
  await bench.gateway.settle(bench.settlement(not, false));
  assert.deepEqual(new Set(holders().map(({ operation_id }) => operation_id)), new Set([...posts, job]));
  await startAgain();
  assert.deepEqual(held(), [[not, false]]);
  await bench.abandon();
  withStore((database) => database.exec("delete from operations"));
  await startGateway();
  assert.deepEqual(held(), [], "nor does what nobody knows any more");
});

test("a claim that was edited is told of, and what it held is not sent", async () => {
  await lose(POST);
  await bench.abandon();
  withStore((database) => database.exec("update notes set sealed = zeroblob(64) where state = 'claim'"));
  await startGateway();
  assert.deepEqual(
    bench.eventsOf("state_tampered").map(({ table }) => table),
    ["notes"],
  );
  run = await bench.openApproved(caller, ACTIONS, { spendCents: 100 });
  const sent = provider.received.length;
  await assert.rejects(bench.gateway.startCall(caller, run.id, POST).done, denies("state_tampered"));
  assert.equal(provider.received.length, sent);
});

test("what can be found out about a write is looked at as soon as the gateway starts", async () => {
  await leave({ action: "acme.thing.change", input: { id: "7", name: "x" } });
  provider.answer((_request, response) => answerJson(response, 200, { id: "7", name: "x" }));
  await startAgain();
  // No time passes.
  await untilDone(time, 0, () => onlyOne().state === "succeeded");
  assert.equal(onlyOne().token, provider.received[0]?.headers["idempotency-key"]);
});

test("what a pack sent that is another one now is looked after by nobody but a person", async () => {
  await leave({ action: "acme.thing.change", input: { id: "7", name: "x" } });
  const sent = provider.received.length;
  await startAgain((pack) => pack.replace("cap_s: 16", "cap_s: 17"));
  const { state, problem, credential, nextPoll, action } = onlyOne();
  assert.deepEqual([state, problem?.code, credential, nextPoll], ["create_unknown", "definition_changed", null, null]);
  assert.deepEqual([action, provider.received.length], ["acme.thing.change", sent]);
});

/** A job that failed, and whose resume has no answer. */
async function leaveResume(): Promise<void> {
  provider.answer(({ method }, response) =>
    method === "POST"
      ? answerJson(response, 202, { job_id: "job-1", state: "queued" })
      : answerJson(response, 200, { job_id: "job-1", state: "failed" }),
  );
  const { operation_id } = await bench.gateway.startCall(caller, run.id, REPORT).done;
  await untilDone(time, 500, () => bench.rows("operations", "failed").length === 1);
  provider.answer(() => undefined);
  const before = provider.received.length;
  bench.gateway.startErrand(caller, operation_id as OperationId, "resume", "again").done.catch(() => undefined);
  await untilDone(time, 0, () => provider.received.length > before);
}

test("a resume that was on its way is looked at as soon as the gateway starts, and by the gateway itself", async () => {
  await leaveResume();
  provider.answer((_request, response) => answerJson(response, 200, { job_id: "job-1", state: "succeeded" }));
  await startAgain();
  assert.deepEqual([onlyOne().state, onlyOne().custodian], ["observing", true]);
  await untilDone(time, 0, () => onlyOne().state === "succeeded");
});

test("a resume that was on its way for what is gone or edited is nobody's", async () => {
  for (const change of ["delete from operations", "update operations set sealed = zeroblob(64)"]) {
    await leaveResume();
    await bench.abandon();
    withStore((database) => database.exec(change));
    await startGateway();
    assert.deepEqual(bench.gateway.operations.list(), [], change);
    run = await bench.openApproved(caller, ACTIONS, { sideEffects: 10 });
  }
});

test("a resume that was on its way is observed by the pack that sent it alone", async () => {
  await leaveResume();
  await startAgain((pack) => pack.replace("cap_s: 16", "cap_s: 17"));
  assert.deepEqual([bench.gateway.operations.list(), bench.rows("operations", "failed").length], [[], 1]);
});

test("a read that was on its way tells nothing after a start: what it would find out is as unknown as before", async () => {
  const id = await lose({ action: "acme.thing.change", input: { id: "7", name: "x" } });
  provider.answer(() => undefined);
  bench.gateway.operations.reconcile(id, "ada").catch(() => undefined);
  await untilDone(time, 0, () => provider.received.at(-1)?.method === "GET");
  assert.equal(bench.rows("operations", "reconciliation").length, 1);
  const told = await startAgain();
  const operation = onlyOne();
  assert.deepEqual([operation.state, operation.problem, operation.custodian], ["create_unknown", null, true]);
  assert.equal(bench.rows("operations", "create_unknown").length, 1);
  assert.deepEqual(
    told.flatMap((event) => (event.event_type === "operation_transition" ? [[event.from, event.to]] : [])),
    [["reconciliation", "create_unknown"]],
  );
});

function withStore(work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(folder, "state.db"));
  work(database);
  database.close();
}

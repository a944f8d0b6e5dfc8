import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { renderCard } from "../src/conventions/approval/render.ts";
import type { Approval } from "../src/gateway/approval/question.ts";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, type BenchOptions, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let accounts = 0;
/** Every report is one of its own: the same one is not started twice while it is open. */
const nextAccount = (): string => `a${++accounts}`;

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let folder: string;
let state: string;
/** Whether the answer to the creation is lost. */
let lost: boolean;

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  state = "running";
  lost = false;
  provider.answer(({ method, url }, response) => {
    if (method === "POST" && lost) return void response.destroy();
    if (method === "POST") return answerJson(response, 202, { job_id: "job-1", state: "queued" });
    if (url.endsWith("/result")) return answerJson(response, 200, { rows: 42 });
    return answerJson(response, 200, { job_id: "job-1", state });
  });
  caller = scriptedCaller();
  await startGateway();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(time?: ManualTime, options: Partial<BenchOptions> = {}): Promise<void> {
  bench = await startBench(consequentialPack(provider.origin), {
    ...options,
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: true, disabled: false, origin: provider.origin }]],
  });
}

async function approveOf({ id }: { readonly id: string }): Promise<void> {
  const open = (): Approval | undefined => bench.gateway.desk.list().find(({ runId }) => runId === id);
  await untilDone(bench.time, 0, () => open() !== undefined);
  await bench.gateway.desk.decide(bench.decision(open() ?? assert.fail()));
}

/** A job, or a creation that nobody saw the answer of, whose session is over. */
async function leftBehind(): Promise<Operation> {
  const run = await bench.openRun(caller, ["acme.report.create"]);
  await approveOf(run);
  await run.admission?.session;
  const input = { account: nextAccount() };
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.report.create", input });
  await approveOf(run);
  let done = false;
  void call.done.finally(() => (done = true));
  await untilDone(bench.time, 100, () => done);
  const { operation_id } = await call.done;
  await bench.gateway.revoke(bench.revocation(run.sessions.get(caller.key)?.id ?? ""));
  return operationOf(operation_id);
}

const operationOf = (id: string | null): Operation => bench.gateway.operations.get(id as OperationId);
const reads = () => provider.received.filter(({ method }) => method === "GET").map(({ url }) => url);

async function asked(operation: Operation): Promise<Approval> {
  await untilDone(bench.time, 500, () => operation.asking !== null);
  const [card, ...others] = bench.gateway.desk.list();
  assert.ok(card !== undefined && others.length === 0);
  assert.equal(card.approvalId, operation.asking);
  return card;
}

const decide = (approval: Approval, decision: "approve" | "deny") =>
  bench.gateway.desk.decide(bench.decision(approval, { decision, reason: decision === "deny" ? "not now" : null }));

/** Lets what was decided happen, without moving the clock. */
const settle = (done: () => boolean): Promise<void> => untilDone(bench.time, 0, done);

test("after the session ended an each-use credential asks: the gateway's own card says what, why and for what", async () => {
  const operation = await leftBehind();
  const { card, callerKey, runId, mode } = await asked(operation);
  assert.equal(reads().length, 0, "nothing is read before somebody agrees");
  assert.ok(card !== null);
  assert.deepEqual(
    [mode, card.asks, callerKey, runId],
    ["custody", "custody", `gateway ${operation.id}`, operation.purse.id],
  );
  assert.deepEqual([card.caller, card.context, card.scope], [{}, {}, null]);
  assert.equal(card.call?.action, "acme.report.status");
  assert.equal(card.call?.target, `${provider.origin}/v1/jobs/job-1`);
  assert.match(card.call?.because.join() ?? "", /session is over/);
  assert.ok(card.notes.some((note) => note.includes(operation.id) && note.includes("is over")));
  const lines = renderCard(card).join("\n");
  assert.match(lines, /^The gateway itself asks\. No program is calling\./);
  assert.match(lines, /one read about work that an ended session left behind/);
  const event = bench.events().findLast(({ event_type }) => event_type === "approval_requested");
  assert.ok(event?.event_type === "approval_requested" && event.mode === "custody");
});

test("approving makes exactly one read, by the gateway, under that approval", async () => {
  const operation = await leftBehind();
  const card = await asked(operation);
  await decide(card, "approve");
  await settle(() => operation.checks === 1);
  assert.deepEqual(reads(), ["/v1/jobs/job-1"]);
  const intent = bench.events().findLast(({ event_type }) => event_type === "intent_accepted");
  assert.ok(intent?.event_type === "intent_accepted");
  assert.deepEqual([intent.caller, intent.authorization], ["gateway", `each_use:${card.approvalId}`]);
  await bench.time.advance(300_000);
  assert.deepEqual([reads().length, operation.asking], [1, null], "the same read is not asked about in a loop");
  assert.deepEqual(bench.gateway.desk.list(), []);
  await bench.time.advance(301_000);
  await asked(operation);
});

test("the result of a job that is done is another read, and another question", async () => {
  const operation = await leftBehind();
  state = "succeeded";
  await decide(await asked(operation), "approve");
  await settle(() => operation.state === "result_collecting");
  const second = await asked(operation);
  assert.equal(second.card?.call?.action, "acme.report.result");
  assert.deepEqual(reads(), ["/v1/jobs/job-1"]);
  await decide(second, "approve");
  await settle(() => operation.state === "succeeded");
  assert.deepEqual(reads(), ["/v1/jobs/job-1", "/v1/jobs/job-1/result"]);
});

test("a creation that nobody saw the answer of is asked about by its own name", async () => {
  lost = true;
  const operation = await leftBehind();
  const card = await asked(operation);
  assert.equal(card.card?.call?.action, "acme.report.by_reference");
  await decide(card, "approve");
  await settle(() => operation.remoteJobId === "job-1");
  assert.equal(provider.received.filter(({ method }) => method === "POST").length, 1);
});

test("denied or left unanswered it needs a person, and is not asked again", async () => {
  const operation = await leftBehind();
  await decide(await asked(operation), "deny");
  await settle(() => operation.problem !== null);
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.match(operation.problem?.detail ?? "", /not now/);
  await bench.time.advance(3_600_000);
  assert.deepEqual([reads().length, bench.gateway.desk.list().length], [0, 0]);
  caller = scriptedCaller();
  const second = await leftBehind();
  await asked(second);
  await untilDone(bench.time, 10_000, () => second.problem !== null);
  assert.equal(second.problem?.code, "operation_needs_person");
  assert.equal(reads().length, 0);
  // Nobody looked, and their deadlines passed all the same.
  const states = ["accepted", "result_timed_out"];
  const rows = states
    .flatMap((state) => bench.rows("operations", state))
    .map((row) => row["problem"] as { code: string } | null);
  assert.deepEqual(
    rows.map((problem) => problem?.code),
    ["operation_needs_person", "operation_needs_person"],
  );
});

test("a person who reads it otherwise takes the question back", async () => {
  const operation = await leftBehind();
  const card = await asked(operation);
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.equal(bench.gateway.desk.find(card.approvalId)?.state, "withdrawn");
  assert.deepEqual([operation.asking, operation.problem, operation.checks], [null, null, 1]);
});

test("a card that is approved while a person's own read begins is read for after that one, not beside it", async () => {
  await bench.close();
  let wait: Promise<void> | undefined;
  let taking = 0;
  await startGateway(undefined, {
    wrapStore: (store) => ({
      ...store,
      async change(...change) {
        taking++;
        await wait;
        return store.change(...change);
      },
    }),
  });
  const operation = await leftBehind();
  const card = await asked(operation);
  const gate = Promise.withResolvers<void>();
  wait = gate.promise;
  taking = 0;
  const reading = bench.gateway.operations.reconcile(operation.id, "ada");
  await settle(() => taking > 0);
  await decide(card, "approve");
  await settle(() => operation.asking === null);
  assert.equal(taking, 1, "the lease is taken once");
  gate.resolve();
  await reading;
  await settle(() => operation.checks === 2);
  assert.equal(reads().length, 2);
});

test("a person who says how it ended says why not to wait for the answer, and takes the question back", async () => {
  const operation = await leftBehind();
  const card = await asked(operation);
  assert.equal(operation.nextPoll, null);
  const said = (change = {}) => bench.gateway.settle(bench.settlement(operation.id, true, change));
  await assert.rejects(said(), denies("operation_evidence_pending"));
  assert.equal(bench.gateway.desk.find(card.approvalId)?.state, "pending");
  assert.equal((await said({ although: "seen on its page" })).state, "succeeded");
  const { state, reason } = bench.gateway.desk.find(card.approvalId) ?? assert.fail();
  assert.deepEqual([state, reason], ["withdrawn", "operation_settled"]);
  await settle(() => operation.asking === null);
  assert.deepEqual([operation.problem, reads()], [null, []]);
});

test("locking takes the question back, and unlocking asks anew", async () => {
  const operation = await leftBehind();
  const card = await asked(operation);
  await bench.gateway.lock("noon", "ada");
  assert.equal(bench.gateway.desk.find(card.approvalId)?.state, "withdrawn");
  assert.equal(operation.problem, null);
  const { time } = bench;
  await bench.close();
  await startGateway(time);
  const again = operationOf(operation.id);
  await settle(() => again.asking !== null);
  assert.equal(reads().length, 0);
});

test("however many operations wait, agents' cards are not buried, and one operation has one card", async () => {
  const operations: Operation[] = [];
  for (let count = 0; count < 5; count++) {
    caller = scriptedCaller();
    operations.push(await leftBehind());
  }
  await untilDone(bench.time, 500, () => operations.every(({ asking }) => asking !== null));
  assert.ok(bench.gateway.desk.list().length <= 3, "the gateway's own questions wait in a line of their own");
  const mine = scriptedCaller();
  const run = await bench.openRun(mine, ["acme.report.create"]);
  assert.ok(bench.gateway.desk.list().some(({ runId, card }) => runId === run.id && card !== null));
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { defaults } from "../src/kernel/defaults.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { createOperationRecords, type OperationRecords } from "../src/surfaces/operator/operation-records.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { type JobScript, scriptJobs } from "./support/jobs.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let accounts = 0;
/** Every report is one of its own: the same one is not started twice while it is open. */
const nextAccount = (): string => `a${++accounts}`;

let provider: TestProvider;
let script: JobScript;
let bench: Bench;
let caller: ScriptedCaller;
let folder: string;
let records: OperationRecords;
let changes: number;

beforeEach(async () => {
  provider = await startProvider();
  script = scriptJobs(provider);
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  caller = scriptedCaller();
  bench = await startBench(consequentialPack(provider.origin), {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
  records = createOperationRecords(bench.gateway, bench.time.clock);
  changes = 0;
  bench.gateway.operations.watch(() => void changes++);
});

afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function create(count = 1): Promise<readonly OperationId[]> {
  const run = await bench.openApproved(caller, ["acme.report.create"], { sideEffects: count, attempts: count });
  const ids: OperationId[] = [];
  for (let index = 0; index < count; index++) {
    const { done } = bench.gateway.startCall(caller, run.id, {
      action: "acme.report.create",
      input: { account: nextAccount() },
    });
    ids.push((await done).operation_id as OperationId);
  }
  return ids;
}

test("every change of an operation is announced, from its creation to its end", async () => {
  const [id] = await create();
  assert.ok(changes > 0);
  const operation = bench.gateway.operations.get(id);
  for (const state of ["observing", "succeeded"]) {
    const before = changes;
    if (state === "succeeded") Object.assign(script.jobs[0] ?? {}, { state });
    await untilDone(bench.time, 1_000, () => operation.state === state);
    assert.ok(changes > before, state);
  }
  const { open, needs_person, shown, ended } = records.board();
  assert.deepEqual([open, needs_person, shown.length], [0, 0, 0]);
  assert.deepEqual(
    ended.map(({ operation_id, state }) => [operation_id, state]),
    [[id, "succeeded"]],
  );
});

test("a board names who started an operation and what is left of its times, on the gateway's own clock", async () => {
  const [id] = await create();
  await untilDone(bench.time, 500, () => bench.gateway.operations.get(id).checks > 0);
  const [first] = records.board().shown;
  assert.ok(first !== undefined && first.next_poll_in_ms !== null);
  assert.match(first.started_by, /^pid [0-9]+ uid [0-9]+ /);
  assert.equal(first.authorized_by, "ada");
  const before = first.result_in_ms;
  await bench.time.advance(1_000);
  assert.equal(records.board().shown[0]?.result_in_ms, before - 1_000);
});

test("a board is bounded, puts those that need a person first, and counts the rest", async () => {
  const many = defaults.operationsShown + 5;
  const ids = await create(many);
  const last = script.jobs.at(-1);
  assert.ok(last !== undefined);
  last.named = "job-of-another";
  const lying = bench.gateway.operations.get(ids.at(-1));
  await untilDone(bench.time, 1_000, () => lying.problem !== null);
  const board = records.board();
  assert.equal(board.shown.length, defaults.operationsShown);
  assert.deepEqual([board.open, board.needs_person], [many, 1]);
  assert.equal(board.shown[0]?.operation_id, lying.id);
});

test("the list leaves results out, one record has its own, and both keep the specification's names", async () => {
  const [id] = await create();
  Object.assign(script.jobs[0] ?? {}, { state: "succeeded" });
  const operation = bench.gateway.operations.get(id);
  await untilDone(bench.time, 1_000, () => operation.state === "succeeded");
  const [listed] = records.list();
  const detail = records.detail(operation);
  assert.equal(listed?.["result"], null);
  assert.deepEqual(JSON.parse(JSON.stringify(detail["result"])), { rows: 42 });
  for (const name of [
    "operation_id",
    "request_fingerprint",
    "idempotency_token",
    "remote_job_id",
    "state",
    "created_at",
  ])
    assert.equal(typeof (detail as JsonObject)[name], "string", name);
  for (const name of ["create_deadline", "result_deadline", "lease", "next_poll_at", "history"])
    assert.ok(name in detail);
});

test("a person's read is on their own authority in the log, and tries again what stopped it", async () => {
  const [id] = await create();
  const operation = bench.gateway.operations.get(id);
  const [job] = script.jobs;
  assert.ok(job !== undefined);
  job.named = "job-of-another";
  await untilDone(bench.time, 1_000, () => operation.problem !== null);
  const reads = job.reads;
  await bench.time.advance(60_000);
  assert.equal(job.reads, reads, "nobody reads by itself");
  Object.assign(job, { named: job.id, state: "succeeded" });
  await bench.gateway.operations.reconcile(operation.id, "grace");
  assert.equal(operation.problem, null);
  assert.equal(operation.state, "succeeded");
  const intents = bench.eventsOf("intent_accepted");
  assert.match(JSON.stringify(intents.at(-1)), /grace/);
});

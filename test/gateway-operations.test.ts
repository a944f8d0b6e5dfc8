import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { renderOperation } from "../src/conventions/operation/render.ts";
import type { OperationDetail } from "../src/conventions/operation/summary.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { createOperationRecords } from "../src/surfaces/operator/operation-records.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";
import { whole } from "./support/whole.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let folder: string;
let jobs: JobProvider;
/** The step of an operation that the log has no room for. */
let crowded: string | null;

/** Each makes its operation longer by two entries, all of which are written again. */
const READS = whole ? 150 : 50;
const ACTIONS = [
  "acme.report.create",
  "acme.report.cancel",
  "acme.report.resume",
  "acme.thing.change",
  "acme.thing.post",
  "acme.thing.get",
];

/** What the provider knows, and how it misbehaves. */
interface JobProvider {
  state: string;
  progress: number;
  created: boolean;
  /** Answers the creation instead of the usual 202; `after` says whether the job exists all the same. */
  create: ((response: ServerResponse) => void) | null;
  status: ((response: ServerResponse) => void) | null;
  result: ((response: ServerResponse) => void) | null;
  token: string | null;
  creations: number;
  /** The keys under which it was asked to go on. */
  resumes: string[];
  resume: ((response: ServerResponse) => void) | null;
}

function answerJobs(request: Received, response: ServerResponse): unknown {
  const { method, url } = request;
  if (method === "POST" && url === "/v1/reports") {
    jobs.creations++;
    jobs.token = String(request.headers["idempotency-key"]);
    if (jobs.create !== null) return jobs.create(response);
    jobs.created = true;
    return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/v1/jobs/job-1" });
  }
  if (method === "GET" && /^\/v1\/jobs\/[^/]+\/result$/.test(url))
    return jobs.result === null ? answerJson(response, 200, { rows: 42 }) : jobs.result(response);
  if (method === "GET" && url.startsWith("/v1/jobs/")) {
    if (jobs.status !== null) return jobs.status(response);
    const progress = { completed: jobs.progress, total: 100 };
    return answerJson(response, 200, { job_id: "job-1", state: jobs.state, updated_at: "x", progress });
  }
  if (method === "POST" && url === "/v1/jobs/job-1/resume") {
    jobs.resumes.push(String(request.headers["idempotency-key"]));
    if (jobs.resume !== null) return jobs.resume(response);
    jobs.state = "running";
    return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/v1/jobs/job-1" });
  }
  if (method === "DELETE") return answerJson(response, 202, { state: jobs.state });
  if (url.startsWith("/operations/by-id/")) {
    if (!jobs.created) return answerJson(response, 404, { code: "not_found" });
    return answerJson(response, 200, { operation_id: "opn-1", job_id: "job-1", state: jobs.state });
  }
  return answerJson(response, 200, { id: "7", name: "new" });
}

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  jobs = {
    ...{
      state: "running",
      progress: 0,
      created: false,
      create: null,
      status: null,
      result: null,
      token: null,
      creations: 0,
    },
    ...{ resumes: [], resume: null },
  };
  provider.answer(answerJobs);
  crowded = null;
  caller = scriptedCaller();
  await startGateway();
  run = await openApproved();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A new gateway object on the same folder, as after a restart. */
async function startGateway(time?: ManualTime): Promise<void> {
  bench = await startBench(consequentialPack(provider.origin), {
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      async append(events) {
        const isStep = events.some((event) => event.event_type === "operation_transition" && event.to === crowded);
        if (isStep) throw new Denied("log_backlogged", "full");
        return sink.append(events);
      },
    }),
  });
}

async function restart(): Promise<void> {
  const { time } = bench;
  await bench.close();
  await startGateway(time);
}

async function openApproved(limits = {}): Promise<Run> {
  return bench.openApproved(caller, ACTIONS, limits);
}

function call(action: string, input: JsonObject): Promise<CallResult> {
  return bench.gateway.startCall(caller, run.id, { action, input }).done;
}

/** Moves the clock along where something waits for it. */
async function settled<Result>(work: Promise<Result>): Promise<Result> {
  let done = false;
  work.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 500, () => done);
  return work;
}

let creations = 0;
/** Each a report of its own: the same one is not created twice while it is open. */
const create = (): Promise<CallResult> => settled(call("acme.report.create", { account: `a${++creations}` }));

async function until(state: string, operation: () => Operation, stepMs = 2_000): Promise<void> {
  await untilDone(bench.time, stepMs, () => operation().state === state);
}

function operationOf(id: string | null): Operation {
  return bench.gateway.operations.get(id as OperationId);
}

const path = (operation: Operation): readonly string[] => operation.history.map(({ to }) => to);
const types = (): readonly string[] => bench.events().map(({ event_type }) => event_type);
const polls = (): number => provider.received.filter(({ url }) => url === "/v1/jobs/job-1").length;

test("a job is tracked from its creation to its result, and 202 is not completion", async () => {
  const result = await create();
  assert.equal(result.outcome, "unknown");
  assert.equal(result.confirmed, false);
  assert.deepEqual(result.reconcile, { method: "GET", path: `/v1/operations/${result.operation_id}` });
  assert.match(result.guidance ?? "", /not its completion/);
  const operation = operationOf(result.operation_id);
  assert.equal(operation.remoteJobId, "job-1");
  await until("observing", () => operation);
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.deepEqual(path(operation), ["accepted", "observing", "result_collecting", "succeeded"]);
  assert.deepEqual({ ...(operation.result as JsonObject) }, { rows: 42 });
  assert.equal(operation.nextPoll, null);
  const transitions = bench.eventsOf("operation_transition");
  assert.deepEqual(
    transitions.map((event) => event.event_type === "operation_transition" && event.to),
    ["create_pending", "accepted", "observing", "result_collecting", "succeeded"],
  );
});

test("local id and token are stored before the first send", async () => {
  let stored: readonly string[] = [];
  provider.answer((request, response) => {
    stored = bench.rows("operations", "create_pending").map((body) => String(body["token"]));
    answerJobs(request, response);
  });
  await create();
  assert.deepEqual(stored, [jobs.token]);
  assert.ok((jobs.token ?? "").length >= 32);
});

test("succeeded is not set from a progress value of 100", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  jobs.progress = 100;
  await untilDone(bench.time, 1_000, () => operation.checks >= 3);
  assert.equal(operation.state, "observing");
  assert.deepEqual(operation.progress, { completed: 100, total: 100 });
});

test("an integer past 2^53 in what a provider says of a job is in nobody's way, and names the job by its digits", async () => {
  const id = "12345678901234567890";
  const say = (response: ServerResponse, status: number, body: string) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(body);
  jobs.create = (response) => say(response, 202, `{"job_id":${id},"state":"queued","account":9007199254740993}`);
  jobs.status = (response) => say(response, 200, `{"job_id":${id},"state":"${jobs.state}","serial":-9007199254740993}`);
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  assert.equal(operation.remoteJobId, id);
  jobs.result = (response) => say(response, 200, '{"rows":9007199254740993}');
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.ok(provider.received.some(({ url }) => url === `/v1/jobs/${id}/result`));
  assert.equal(JSON.stringify(operation.result), '{"rows":"9007199254740993"}');
  // Its neighbour, which a double holds as the same number.
  const { operation_id: second } = await create();
  jobs.status = (response) => say(response, 200, '{"job_id":12345678901234567891,"state":"succeeded"}');
  const other = operationOf(second);
  await untilDone(bench.time, 1_000, () => other.problem !== null);
  assert.notEqual(other.state, "succeeded");
});

test("a creation that times out after the commit is reconciled without a duplicate", async () => {
  jobs.create = (response) => {
    jobs.created = true;
    response.destroy();
  };
  const result = await create();
  assert.equal(result.outcome, "unknown");
  assert.deepEqual(result.reconcile, { method: "POST", path: `/v1/operations/${result.operation_id}/reconcile` });
  const operation = operationOf(result.operation_id);
  assert.equal(operation.token, jobs.token, "the same token is kept");
  // The worker may be quicker than the caller and hold the operation already; both take the same way.
  await bench.gateway.reconcile(caller, operation.id).catch((error) => assert.ok(error instanceof Denied));
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.equal(operation.remoteJobId, "job-1");
  assert.equal(jobs.creations, 1, "nothing was started twice");
  assert.deepEqual(path(operation).slice(0, 3), ["create_unknown", "reconciliation", "accepted"]);
  const reconciled = bench.events().find(({ event_type }) => event_type === "reconciled_accepted");
  assert.ok(reconciled?.event_type === "reconciled_accepted");
  assert.equal(reconciled.source, "acme.report.by_reference");
  assert.equal(reconciled.attempt_id, operation.attemptId);
});

test("a creation on its way is asked about by nobody, and the job that its answer names is kept", async () => {
  const answered = Promise.withResolvers<void>();
  jobs.create = (response) => {
    void answered.promise.then(() => answerJson(response, 202, { job_id: "job-1", state: "queued" }));
  };
  const asked = { action: "acme.report.create", input: { account: "slow" } };
  const done = bench.gateway.startCall(caller, run.id, asked).done;
  await untilDone(bench.time, 0, () => jobs.creations === 1);
  const open = await bench.gateway.startCall(caller, run.id, asked).done.catch((error: unknown) => error);
  assert.ok(open instanceof Denied);
  // Whoever makes the same call is told its name.
  const operation = operationOf(String(open.extra["operation_id"]));
  await assert.rejects(bench.gateway.reconcile(caller, operation.id), denies("operation_evidence_pending"));
  await assert.rejects(bench.gateway.operations.reconcile(operation.id, "ada"), denies("operation_evidence_pending"));
  assert.equal(bench.gateway.operations.readRefusal(operation)?.code, "operation_evidence_pending");
  assert.deepEqual([operation.state, provider.received.length], ["create_pending", 1]);
  answered.resolve();
  assert.match((await done).guidance ?? "", /accepted the work/);
  assert.deepEqual([operation.remoteJobId, ...path(operation)], ["job-1", "accepted"]);
});

test("a creation that never arrived is proven absent only after the creation deadline", async () => {
  jobs.create = (response) => response.destroy();
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await bench.gateway.reconcile(caller, operation.id);
  assert.equal(operation.state, "create_unknown", "a request may still be on its way");
  assert.ok(types().includes("reconciliation_inconclusive"));
  await until("failed", () => operation);
  assert.ok(types().includes("reconciled_failure"));
  assert.equal(jobs.creations, 1);
});

test("the history is append-only: what a person reads again and again is kept whole in store, log and on the screen", async () => {
  jobs.create = (response) => response.destroy();
  const { operation_id } = await create();
  for (let read = 0; read < READS; read++) {
    await bench.gateway.operations.reconcile(operation_id as OperationId, "ada");
  }
  const reads = provider.received.filter(({ url }) => url.startsWith("/operations/by-id/")).length;
  assert.ok(reads >= READS, `a person's read is always sent: ${reads}`);
  const before = operationOf(operation_id).history;
  assert.ok(before.length > 2 * READS, String(before.length));
  assert.deepEqual([before[0]?.from, before[0]?.to], ["create_pending", "create_unknown"]);
  const logged = bench.events().flatMap((event) => (event.event_type === "operation_transition" ? [event] : []));
  assert.deepEqual(
    logged.slice(1).map(({ at, from, to }) => ({ at, from, to })),
    before.map(({ at, from, to }) => ({ at, from, to })),
  );
  await restart();
  const history = operationOf(operation_id).history;
  assert.deepEqual(history.slice(0, before.length), before, "nothing of it went with the restart");
  const [stored] = bench.rows("operations", operationOf(operation_id).state);
  assert.deepEqual(stored?.["history"], history);
  const shown = createOperationRecords(bench.gateway, bench.time.clock).detail(operationOf(operation_id));
  assert.deepEqual(shown["history"], history);
  const lines = renderOperation(shown as never as OperationDetail);
  assert.equal(lines.length - lines.indexOf("History, oldest first") - 1, history.length);
});

test("the worker reconciles by itself, and a drop in the middle of the answer is unknown too", async () => {
  jobs.create = (response) => {
    jobs.created = true;
    response.writeHead(202, { "content-type": "application/json", "content-length": "500" });
    response.write('{"job_id":"jo');
    response.destroy();
  };
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await until("observing", () => operation);
  // The worker may be quicker than this test, so that the state passed through is asked of the history.
  assert.ok(operation.history.some(({ to }) => to === "create_unknown"));
  assert.equal(jobs.creations, 1);
});

test("an answer without a job id is no clear answer, and a refusal is proof of none", async () => {
  jobs.create = (response) => answerJson(response, 202, { state: "queued" });
  const unclear = operationOf((await create()).operation_id);
  assert.ok(path(unclear).includes("create_unknown"), "the worker may be further by now");
  jobs.create = (response) => answerJson(response, 422, { code: "schema_violation" });
  const refused = await create();
  assert.equal(refused.outcome, "error");
  assert.equal(operationOf(refused.operation_id).state, "failed");
});

test("a lying provider that names another job stops automation with both records kept", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  jobs.status = (response) => answerJson(response, 200, { job_id: "job-666", state: "succeeded" });
  await untilDone(bench.time, 1_000, () => operation.problem !== null);
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.match(operation.problem?.detail ?? "", /job-666.*job-1/);
  assert.equal(operation.remoteJobId, "job-1");
  const before = polls();
  await bench.time.advance(60_000);
  assert.equal(polls(), before, "nothing more is read");
  await assert.rejects(bench.gateway.reconcile(caller, operation.id), denies("operation_needs_person"));
});

test("polls are paid by the operation and not by the run, and its allowance is reported when it is used up", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  const used = run.budget.attemptsUsed;
  await untilDone(bench.time, 2_000, () => operation.problem !== null);
  assert.equal(run.budget.attemptsUsed, used);
  assert.equal(operation.checks, 12);
  assert.equal(operation.problem?.code, "poll_allowance_exhausted");
  await assert.rejects(bench.gateway.reconcile(caller, operation.id), (error) => {
    assert.ok(error instanceof Denied && error.code === "poll_allowance_exhausted");
    assert.deepEqual([error.extra["state"], error.extra["remote_job_id"]], ["result_timed_out", "job-1"]);
    return true;
  });
  jobs.state = "succeeded";
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.equal(operation.state, "succeeded", "a person may read once more");
});

test("a transport failure and a job that runs do not share one allowance", async () => {
  let lost = 3;
  jobs.status = (response) => {
    if (lost-- > 0) return void response.destroy();
    answerJson(response, 200, { job_id: "job-1", state: "running" });
  };
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  // Small steps: the deadline of its result is far away, however long a read takes meanwhile.
  await untilDone(bench.time, 100, () => operation.checks >= 2);
  assert.equal(operation.faults, 3);
  assert.equal(operation.state, "observing");
});

test("an agent that asks sooner than the provider wants to be asked sends nothing, and a person's read is sent", async () => {
  const { operation_id } = await create();
  jobs.status = (response) => response.writeHead(429, { "retry-after": "600" }).end();
  await untilDone(bench.time, 500, () => operationOf(operation_id).faults === 1);
  const operation = operationOf(operation_id);
  for (let ask = 0; ask < 12; ask++)
    await assert.rejects(bench.gateway.reconcile(caller, operation.id), denies("operation_evidence_pending"));
  assert.deepEqual([polls(), operation.problem], [1, null]);
  jobs.status = null;
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.deepEqual([polls(), operation.state], [2, "observing"]);
  // That answer wants nothing.
  await bench.gateway.reconcile(caller, operation.id);
  assert.equal(polls(), 3);
});

test("an agent that asks again and again uses up no more than one check before the schedule's next", async () => {
  jobs.status = (response) => answerJson(response, 200, { job_id: "job-1", state: "running" });
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await bench.gateway.reconcile(caller, operation.id);
  for (let ask = 0; ask < 12; ask++)
    await assert.rejects(bench.gateway.reconcile(caller, operation.id), denies("operation_evidence_pending"));
  assert.deepEqual([polls(), operation.checks, operation.problem], [1, 1, null]);
  await untilDone(bench.time, 500, () => operation.checks === 2);
  await bench.gateway.reconcile(caller, operation.id);
  assert.deepEqual([polls(), operation.problem], [3, null]);
});

test("the next poll follows Retry-After, as seconds or as a date, also where it is shorter than our interval", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  let wait = (): string => "15";
  // A server of Node's keeps the second of its Date for a while: on a busy machine it lies behind.
  const at = Date.now();
  const date = new Date(at).toUTCString();
  jobs.status = (response) => {
    response.writeHead(200, { "content-type": "application/json", date, "retry-after": wait() });
    response.end(JSON.stringify({ job_id: "job-1", state: "running" }));
  };
  const asked = async (text: () => string): Promise<number> => {
    wait = text;
    const before = operation.checks;
    await untilDone(bench.time, 500, () => operation.checks > before);
    return (operation.nextPoll?.bootMs ?? 0) - bench.time.clock.bootMs();
  };
  const left = await asked(() => "15");
  assert.ok(left > 13_000 && left <= 15_000, String(left));
  const dated = await asked(() => new Date(at + 20_000).toUTCString());
  assert.ok(dated > 13_000 && dated <= 20_000, String(dated));
  await asked(() => "1");
  const soon = await asked(() => "1");
  assert.ok(soon <= 1_000, `after four checks our own interval would be near 32 s: ${soon}`);
});

test("the result deadline passes without the remote job being taken for stopped", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await until("result_timed_out", () => operation, 2_000);
  jobs.state = "succeeded";
  await until("succeeded", () => operation, 2_000);
  assert.deepEqual(path(operation).slice(-3), ["result_timed_out", "result_collecting", "succeeded"]);
});

test("the log has every step of an operation, also one that it had no room for when it was taken", async () => {
  crowded = "observing";
  const operation = operationOf((await create()).operation_id);
  await until("observing", () => operation);
  await bench.time.advance(1_000);
  jobs.state = "succeeded";
  crowded = null;
  await until("succeeded", () => operation);
  const told = () => bench.eventsOf("operation_transition").flatMap((event) => ("to" in event ? [event.to] : []));
  await untilDone(bench.time, 0, () => told().at(-1) === "succeeded");
  assert.deepEqual(told(), ["create_pending", ...path(operation)]);
});

test("cancelled is not set because a cancel was sent: only the provider's report sets it", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await until("observing", () => operation);
  const cancel = await bench.gateway.startErrand(caller, operation.id, "cancel", "wrong range").done;
  assert.equal(cancel.operation_id, operation.id);
  assert.match(cancel.guidance ?? "", /provider decides/);
  assert.equal(operation.state, "cancelling");
  assert.equal(operation.cancel?.reason, "wrong range");
  assert.deepEqual(path(operation).slice(-2), ["cancel_requested", "cancelling"]);
  assert.equal(provider.received.filter(({ method }) => method === "DELETE").length, 1);
  await untilDone(bench.time, 1_000, () => operation.checks >= 3);
  assert.equal(operation.state, "cancelling");
  jobs.state = "cancelled";
  await until("cancelled", () => operation);
});

test("who cancels, why and what is expected are stored before the request to stop leaves", async () => {
  const operation = operationOf((await create()).operation_id);
  await until("observing", () => operation);
  let stored: readonly unknown[] = [];
  provider.answer((request, response) => {
    if (request.method === "DELETE") stored = bench.rows("operations", "cancel_requested").map(({ cancel }) => cancel);
    answerJobs(request, response);
  });
  await bench.gateway.startErrand(caller, operation.id, "cancel", "wrong range").done;
  assert.deepEqual(stored, [operation.cancel]);
  const { actor, reason, expectedEffect } = operation.cancel ?? assert.fail("no cancel");
  assert.deepEqual([actor, reason], [caller.key, "wrong range"]);
  assert.match(expectedEffect, /stops the work/);
});

test("a job cancelled too late succeeds", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await until("observing", () => operation);
  await bench.gateway.startErrand(caller, operation.id, "cancel", "too late").done;
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.deepEqual({ ...(operation.result as JsonObject) }, { rows: 42 });
  await assert.rejects(
    bench.gateway.startErrand(caller, operation.id, "cancel", "x").done,
    denies("operation_not_cancellable"),
  );
});

test("a cancel that is proven not to have left stays requested, and the job is still observed", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await until("observing", () => operation);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: "https://elsewhere.example" });
  await bench.gateway.startErrand(caller, operation.id, "cancel", "stop").done;
  assert.equal(operation.state, "cancel_requested");
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  jobs.state = "failed";
  await until("failed", () => operation);
});

test("cancelling is a side effect that the scope must have", async () => {
  caller = scriptedCaller();
  run = await bench.openApproved(caller, ["acme.report.create"]);
  const { operation_id } = await create();
  const cancel = bench.gateway.startErrand(caller, operation_id as OperationId, "cancel", "x");
  await assert.rejects(cancel.done, denies("action_not_permitted"));
  assert.equal(provider.received.filter(({ method }) => method === "DELETE").length, 0);
});

/** A job that its provider reports as failed. */
async function failedJob(): Promise<Operation> {
  const operation = operationOf((await create()).operation_id);
  jobs.state = "failed";
  // The store has it a moment after memory does.
  const isStored = () => bench.rows("operations", "failed").some(({ callId }) => callId === operation.callId);
  await untilDone(bench.time, 2_000, isStored);
  return operation;
}

const statusReads = (): number => provider.received.filter(({ url }) => url === "/v1/jobs/job-1").length;

const resumeIt = (operation: Operation): Promise<CallResult> =>
  settled(bench.gateway.startErrand(caller, operation.id, "resume", "the disk was full").done);

test("failed work is resumed by an action of its own, and observed until the provider reports its end", async () => {
  const operation = await failedJob();
  const before = operation.resultDeadline.bootMs;
  const spent = run.budget.sideEffectAttempts;
  const result = await resumeIt(operation);
  assert.equal(result.outcome, "unknown", "202 is not completion");
  assert.deepEqual(result.reconcile, { method: "GET", path: `/v1/operations/${operation.id}` });
  assert.match(result.guidance ?? "", /Do not ask again/);
  assert.equal(operation.state, "observing");
  assert.equal(run.budget.sideEffectAttempts, spent + 1, "it is a side effect of the run");
  assert.ok(operation.resultDeadline.bootMs > before, "the result has a deadline anew");
  const [record] = operation.resumes;
  assert.ok(record !== undefined && operation.resumes.length === 1);
  assert.deepEqual([record.call_id, record.reason, record.outcome], [result.call_id, "the disk was full", "accepted"]);
  assert.notEqual(record.call_id, operation.callId);
  const intent = bench
    .events()
    .find((event) => event.event_type === "intent_accepted" && event.action === "acme.report.resume");
  assert.ok(intent?.event_type === "intent_accepted");
  assert.deepEqual([intent.action_id, intent.operation_id], [record.attempt_id, operation.id]);
  assert.notEqual(jobs.resumes[0], jobs.token, "another action has another token");
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.deepEqual(path(operation).slice(-4), ["failed", "observing", "result_collecting", "succeeded"]);
  assert.equal(jobs.creations, 1);
});

test("failed work is not resumed where the pack names no documented way", async () => {
  await bench.close();
  bench = await startBench(consequentialPack(provider.origin).replace("resume: report.resume", "resume: none"), {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
  run = await openApproved();
  const operation = await failedJob();
  await assert.rejects(resumeIt(operation), denies("operation_not_resumable"));
  await assert.rejects(bench.gateway.operations.resume(operation.id, "ada", "x"), denies("operation_not_resumable"));
  assert.equal(operation.state, "failed");
  assert.equal(jobs.resumes.length, 0);
});

test("only what failed is resumed, by its own caller, within the scope", async () => {
  const running = operationOf((await create()).operation_id);
  await assert.rejects(resumeIt(running), denies("operation_not_resumable"));
  const stranger = scriptedCaller();
  assert.throws(() => bench.gateway.startErrand(stranger, running.id, "resume", "mine"), denies("not_found"));
  jobs.create = (response) => answerJson(response, 422, { code: "no" });
  const rejected = operationOf((await create()).operation_id);
  assert.equal(rejected.state, "failed");
  await assert.rejects(resumeIt(rejected), denies("operation_not_resumable"), "it never became a job");
  jobs.create = null;
  run = await bench.openApproved(caller, ["acme.report.create"]);
  const unscoped = await failedJob();
  await assert.rejects(resumeIt(unscoped), denies("action_not_permitted"));
  assert.equal(jobs.resumes.length, 0);
});

test("a resume that is proven refused leaves the work failed; one without an answer is observed, and sent once", async () => {
  const operation = await failedJob();
  jobs.resume = (response) => answerJson(response, 409, { code: "job_not_resumable" });
  const refused = await resumeIt(operation);
  assert.deepEqual([refused.outcome, refused.guidance, operation.state], ["error", null, "failed"]);
  assert.deepEqual(
    operation.resumes.map(({ outcome }) => outcome),
    ["refused"],
  );
  jobs.resume = (response) => void response.destroy();
  const unknown = await resumeIt(operation);
  // The worker may be quicker than this test, so that the state passed through is asked of the history.
  const resumed = operation.history.find(({ cause }) => cause === "resume_sent");
  assert.deepEqual([unknown.outcome, resumed?.to], ["unknown", "observing"]);
  assert.deepEqual(
    operation.resumes.map(({ outcome }) => outcome),
    ["refused", "unknown"],
  );
  assert.equal(jobs.resumes.length, 2, "an unknown outcome is not sent again");
  await until("failed", () => operation);
  assert.equal(path(operation).at(-1), "failed", "the provider reports that it did not go on");
});

test("a resume that a lock ends between two tries leaves one operation that is observed", async () => {
  const before = await failedJob();
  jobs.resume = (response) => {
    jobs.state = "running";
    response.writeHead(503, { "retry-after": "5" }).end();
  };
  const resumed = bench.gateway
    .startErrand(caller, before.id, "resume", "the disk was full")
    .done.catch(() => undefined);
  await untilDone(bench.time, 0, () => bench.rows("operations", "observing").length === 1);
  await bench.gateway.lock("at night", null);
  await resumed;
  await bench.unlock();
  const operation = operationOf(before.id);
  const [checks, reads] = [operation.checks, statusReads()];
  await untilDone(bench.time, 1_000, () => operation.checks > checks + 1);
  jobs.state = "succeeded";
  await untilDone(bench.time, 1_000, () => bench.rows("operations", "succeeded").length === 1);
  assert.deepEqual([jobs.resumes.length, statusReads() - reads], [1, operation.checks - checks]);
  const ends = bench.eventsOf("operation_transition").filter(({ to }) => to === "succeeded");
  assert.equal(ends.length, 1);
});

test("two resumes at once send one", async () => {
  const operation = await failedJob();
  const both = await Promise.allSettled([
    settled(bench.gateway.startErrand(caller, operation.id, "resume", "one").done),
    bench.gateway.operations.resume(operation.id, "ada", "two"),
  ]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.equal(jobs.resumes.length, 1);
});

for (const status of [200, 202, 500]) {
  const named = status < 300;
  test(`a resume answered with ${status} that names another job ${named ? "stops automation with both records kept" : "says nothing of it"}`, async () => {
    const operation = await failedJob();
    jobs.state = "running";
    jobs.resume = (response) => answerJson(response, status, { job_id: "job-2", state: "queued" });
    await resumeIt(operation);
    assert.equal(operation.problem?.code, named ? "operation_needs_person" : undefined);
    assert.match(operation.problem?.detail ?? "", named ? /job-2 where job-1/ : /^$/);
    assert.equal(operation.nextPoll === null, named);
  });
}

test("an operator resumes work that failed before the gateway was restarted", async () => {
  const { id } = await failedJob();
  await restart();
  assert.equal(bench.gateway.operations.list().length, 0);
  const operation = await bench.gateway.operations.resume(id, "ada", "space was made");
  assert.deepEqual([operation.state, operation.resumes[0]?.actor], ["observing", "ada"]);
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  const last = bench
    .events()
    .findLast((event) => event.event_type === "intent_accepted" && event.action === "acme.report.resume");
  assert.ok(last?.event_type === "intent_accepted" && last.authorization === "operator:ada");
});

test("a gateway killed while it resumes observes the job again and does not resume it twice", async () => {
  const operation = await failedJob();
  const gate = Promise.withResolvers<void>();
  jobs.resume = (response) => void gate.promise.then(() => response.destroy());
  bench.gateway.startErrand(caller, operation.id, "resume", "again").done.catch(() => undefined);
  await untilDone(bench.time, 10, () => jobs.resumes.length === 1);
  const { time } = bench;
  await bench.abandon();
  jobs.state = "succeeded";
  await startGateway(time);
  gate.resolve();
  const again = operationOf(operation.id);
  assert.deepEqual([again.state, again.resumes[0]?.outcome], ["observing", "unknown"]);
  await until("succeeded", () => again);
  assert.equal(jobs.resumes.length, 1);
});

test("past the provider's token window nothing is sent again", async () => {
  const answers = [503, 200];
  provider.answer((_request, response) => {
    answerJson(response, answers.shift() ?? 500, {});
  });
  const short = consequentialPack(provider.origin).replace("window_s: 86400", "window_s: 1");
  await bench.close();
  bench = await startBench(short, {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    // The answer takes longer than the provider remembers the token for.
    wrapHttp: (http) => ({
      async send(...args) {
        const observation = await http.send(...args);
        await bench.time.advance(1_500);
        return observation;
      },
    }),
  });
  run = await openApproved();
  const result = await settled(call("acme.thing.change", { id: "7", name: "x" }));
  assert.equal(result.outcome, "unknown");
  assert.equal(provider.received.filter(({ method }) => method === "POST").length, 1);
});

test("another caller's operation is not found", async () => {
  const { operation_id } = await create();
  const stranger = scriptedCaller();
  assert.throws(() => bench.gateway.operation(stranger, operation_id as OperationId), denies("not_found"));
  await assert.rejects(bench.gateway.reconcile(stranger, operation_id as OperationId), denies("not_found"));
});

test("after the session ended the gateway reads on as custodian, ten reads and never a resend", async () => {
  const { operation_id } = await create();
  const operation = operationOf(operation_id);
  await untilDone(bench.time, 1_000, () => operation.checks === 1);
  const before = polls();
  caller.become({ kind: "gone" });
  await untilDone(bench.time, 2_000, () => operation.problem !== null);
  assert.equal(operation.custodian, true);
  assert.equal(polls() - before, 10);
  assert.equal(operation.problem?.code, "poll_allowance_exhausted");
  assert.equal(jobs.creations, 1);
  const intents = bench.eventsOf("intent_accepted");
  const last = intents.at(-1);
  assert.ok(last?.event_type === "intent_accepted" && last.caller === "gateway");
});

test("a restarted worker resumes the stored schedule and finishes the job", async () => {
  const { operation_id } = await create();
  await untilDone(bench.time, 1_000, () =>
    bench.rows("operations", "observing").some(({ checks }) => Number(checks) >= 1),
  );
  const due = operationOf(operation_id).nextPoll?.at;
  await restart();
  const operation = operationOf(operation_id);
  assert.equal(operation.state, "observing");
  assert.equal(operation.nextPoll?.at, due);
  assert.equal(operation.token, jobs.token);
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.equal(jobs.creations, 1);
  assert.equal(operation.history[0]?.to, "accepted", "the history survives");
});

test("a gateway killed between the intent and the answer finds out by itself after the restart", async () => {
  const gate = Promise.withResolvers<void>();
  provider.answer((request, response): unknown => {
    if (request.method !== "POST") return answerJobs(request, response);
    jobs.creations++;
    jobs.created = true;
    return gate.promise.then(() => response.destroy());
  });
  const lost = call("acme.report.create", { account: "a1" });
  lost.catch(() => undefined);
  await untilDone(bench.time, 0, () => jobs.creations === 1);
  const { time } = bench;
  const abandoned = bench;
  await abandoned.abandon();
  await startGateway(time);
  gate.resolve();
  const [operation] = bench.gateway.operations.list();
  assert.ok(operation !== undefined);
  assert.equal(operation.state, "create_unknown");
  await until("observing", () => operation);
  assert.equal(jobs.creations, 1);
  assert.ok(types().includes("outcome_unobserved"));
});

test("a locked gateway reads nothing and keeps the schedule", async () => {
  const { operation_id } = await create();
  await until("observing", () => operationOf(operation_id));
  await bench.gateway.lock("lunch", "ada");
  const before = polls();
  await bench.time.advance(60_000);
  assert.equal(polls(), before);
});

test("a lock ends sessions and takes questions back at once, whatever a provider makes of a read that is on its way", async () => {
  const { operation_id } = await create();
  const answered = Promise.withResolvers<void>();
  jobs.status = (response) => void answered.promise.then(() => answerJson(response, 200, { state: "running" }));
  await untilDone(bench.time, 500, () => polls() === 1);
  await bench.openRun(scriptedCaller(), ACTIONS);
  const locked = Promise.withResolvers<void>();
  const locking = bench.gateway.lock("lunch", "ada", locked.resolve);
  await locked.promise;
  const states = bench.gateway.sessions().map(({ state }) => state);
  const { checks, faults } = operationOf(operation_id);
  assert.deepEqual([states, bench.gateway.desk.list(), checks, faults], [["ended"], [], 0, 0]);
  answered.resolve();
  await locking;
  await bench.unlock();
  assert.equal(operationOf(operation_id).state, "observing");
});

/** A creation whose answer is held until `answer`. */
async function createSlowly() {
  const answered = Promise.withResolvers<void>();
  jobs.create = (response) => {
    void answered.promise.then(() => answerJson(response, 202, { job_id: "job-1", state: "queued" }));
  };
  const action = "acme.report.create";
  const { done } = bench.gateway.startCall(caller, run.id, { action, input: { account: "slow" } });
  await untilDone(bench.time, 0, () => jobs.creations === 1);
  return { done, answer: answered.resolve };
}

test("a job that is named while the gateway is being locked is on record at the unlock", async () => {
  const { done, answer } = await createSlowly();
  const locked = Promise.withResolvers<void>();
  const locking = bench.gateway.lock("lunch", "ada", locked.resolve);
  await locked.promise;
  await bench.time.advance(0);
  answer();
  const { operation_id } = await done;
  await locking;
  await bench.unlock();
  const operation = operationOf(operation_id);
  assert.deepEqual([operation.remoteJobId, ...path(operation)], ["job-1", "accepted"]);
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.equal(jobs.creations, 1);
});

test("a job that is named long after a lock moves nothing of what the unlock took up", async () => {
  const { done, answer } = await createSlowly();
  provider.answer((request, response) => {
    if (jobs.created || !request.url.startsWith("/operations/")) return void answerJobs(request, response);
    answerJson(response, 500, {});
  });
  let locked = false;
  void bench.gateway.lock("lunch", "ada").then(() => (locked = true));
  await untilDone(bench.time, defaults.lockWaitMs, () => locked);
  await bench.unlock();
  answer();
  const { outcome, operation_id, guidance } = await done;
  const operation = operationOf(operation_id);
  assert.deepEqual([outcome, operation.remoteJobId], ["unknown", null]);
  assert.match(guidance ?? "", /may have happened/);
  assert.deepEqual(bench.rows("operations", "accepted"), []);
  assert.ok(!bench.eventsOf("operation_transition").some(({ to }) => to === "accepted"));
  jobs.created = true;
  jobs.state = "succeeded";
  await until("succeeded", () => operation);
  assert.deepEqual([operation.remoteJobId, jobs.creations], ["job-1", 1]);
});

test("an edited row of an operation is reported and never used", async () => {
  const { operation_id } = await create();
  const { time } = bench;
  await bench.close();
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(join(folder, "state.db"));
  database.prepare("update operations set state = 'cancelling' where id = ?").run(operation_id);
  database.close();
  await startGateway(time);
  assert.equal(bench.gateway.operations.list().length, 0);
  const tampered = bench.events().find(({ event_type }) => event_type === "state_tampered");
  assert.ok(tampered?.event_type === "state_tampered" && tampered.table === "operations");
});

test("two workers on one store never read for one operation at once", async () => {
  const { operation_id } = await create();
  const first = operationOf(operation_id);
  await until("observing", () => first);
  const second = await startBench(consequentialPack(provider.origin), {
    folder,
    logFolder: "audit-2",
    time: bench.time,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
  assert.equal(second.gateway.operations.get(operation_id as OperationId).id, first.id);
  const before = polls();
  await bench.time.advance(20_000);
  // The first one goes on: what is due by then is sent in real time.
  await untilDone(bench.time, 0, () => polls() > before);
  const reads = second.eventsOf("intent_accepted");
  assert.deepEqual(reads, [], "the second one waits until that lease has run out");
  assert.ok(polls() - before <= 4, `${polls() - before} polls in twenty seconds`);
  const owners = new Set(bench.rows("operations", "observing").map((body) => (body["lease"] as JsonObject)["owner"]));
  assert.equal(owners.size, 1);
  await second.close();
});

test("at its deadline an operation is late by itself, also where no read is due", async () => {
  const operation = operationOf((await create()).operation_id);
  provider.answer((_request, response) => response.writeHead(503, { "retry-after": "3600" }).end());
  await untilDone(bench.time, 500, () => operation.faults > 0 && (operation.nextPoll?.bootMs ?? 0) > 3_000_000);
  const reads = provider.received.length;
  await until("result_timed_out", () => operation);
  assert.equal(provider.received.length, reads, "and nothing was read for it");
  await untilDone(bench.time, 0, () => bench.rows("operations", "result_timed_out").length === 1);
  assert.equal(bench.eventsOf("operation_transition").at(-1)?.to, "result_timed_out");
});

test("a write without an answer is unknown, reconciled by the defined read, and confirmed by it", async () => {
  provider.answer((request, response) => {
    if (request.method === "POST") return void response.destroy();
    answerJson(response, 200, { id: "7", name: "new" });
  });
  const result = await settled(call("acme.thing.change", { id: "7", name: "new" }));
  assert.equal(result.outcome, "unknown");
  assert.equal(result.retry_allowed, false, "whatever its definition allows once it is known");
  assert.match(result.guidance ?? "", /Do not repeat it/);
  assert.equal(result.correlation_id, result.call_id);
  const operation = operationOf(result.operation_id);
  const after = await bench.gateway.reconcile(caller, operation.id);
  assert.equal(after.state, "succeeded");
  assert.ok(types().includes("reconciled_success"));
  assert.equal(provider.received.filter(({ method }) => method === "POST").length, 1);
  await assert.rejects(bench.gateway.reconcile(caller, operation.id), denies("operation_settled"));
});

test("another state than the expected proves neither success nor failure", async () => {
  provider.answer((request, response) => {
    if (request.method === "POST") return void response.destroy();
    answerJson(response, 200, { id: "7", name: "old" });
  });
  const result = await settled(call("acme.thing.change", { id: "7", name: "new" }));
  const operation = operationOf(result.operation_id);
  const after = await bench.gateway.reconcile(caller, operation.id);
  assert.equal(after.state, "create_unknown");
  await untilDone(bench.time, 5_000, () => operation.problem !== null);
  assert.equal(operation.state, "create_unknown", "it stays unknown until somebody knows");
});

test("a write whose definition names no read stays unknown and says so", async () => {
  provider.answer((_request, response) => void response.destroy());
  const result = await call("acme.thing.post", { name: "x" });
  assert.equal(result.outcome, "unknown");
  assert.equal(result.retry_allowed, false);
  const id = result.operation_id as OperationId;
  await assert.rejects(bench.gateway.reconcile(caller, id), denies("operation_not_reconcilable"));
  assert.equal(provider.received.length, 1);
});

test("a write that was on its way when the gateway was killed becomes an operation after the restart", async () => {
  const gate = Promise.withResolvers<void>();
  provider.answer((request, response) => {
    if (request.method === "POST") return void gate.promise.then(() => response.destroy());
    answerJson(response, 200, { id: "7", name: "new" });
  });
  call("acme.thing.change", { id: "7", name: "new" }).catch(() => undefined);
  await untilDone(bench.time, 0, () => provider.received.length === 1);
  const { time } = bench;
  await bench.abandon();
  await startGateway(time);
  gate.resolve();
  const [operation] = bench.gateway.operations.list();
  assert.ok(operation !== undefined);
  assert.equal(operation.token, provider.received[0]?.headers["idempotency-key"], "its token is kept");
  await until("succeeded", () => operation);
  assert.equal(provider.received.filter(({ method }) => method === "POST").length, 1);
});

test("a plain read leaves no operation, no plan and no row behind but its own", async () => {
  await call("acme.thing.get", { id: "7" });
  assert.equal(bench.gateway.operations.list().length, 0);
  for (const table of ["operations", "plans", "deployments"] as const)
    for (const state of ["create_pending", "create_unknown", "previewed", "current"])
      assert.equal(bench.rows(table, state).length, 0);
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { JobErrand } from "../src/conventions/operation/errand.ts";
import { learn, type Operation } from "../src/gateway/operation/operations.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Cancelling and resuming where a person is asked about each, and what becomes of the job while they think. */
let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let folder: string;
/** What the provider reports of the job. */
let state: string;
/** How it answers whoever wants it to stop or to go on. */
let wish: (response: ServerResponse) => unknown;

const ACTIONS = ["acme.report.create", "acme.report.cancel", "acme.report.resume"];
const EACH = "    needs: { approval: each_use }\n";

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  state = "running";
  wish = (response) => answerJson(response, 202, { job_id: "job-1", state: "queued" });
  provider.answer(({ method, url }, response) => {
    if (method === "DELETE" || url.endsWith("/resume")) return wish(response);
    if (method === "POST") return answerJson(response, 202, { job_id: "job-1", state: "queued" });
    return answerJson(response, 200, url.endsWith("/result") ? { rows: 42 } : { job_id: "job-1", state });
  });
  caller = scriptedCaller();
  await startGateway();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(time?: ManualTime, change = (pack: string): string => pack): Promise<void> {
  const asking = ["  report.cancel:\n", "  report.resume:\n"].reduce(
    (pack, name) => pack.replace(name, `${name}${EACH}`),
    consequentialPack(provider.origin),
  );
  bench = await startBench(change(asking), {
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
}

/** Killed as it stands, and started again. */
async function startAgain(): Promise<void> {
  const { time } = bench;
  await bench.abandon();
  await startGateway(time);
}

async function create(): Promise<Operation> {
  const run = await bench.openApproved(caller, ACTIONS);
  const how = { action: "acme.report.create", input: { account: "a1" } };
  const { operation_id } = await bench.gateway.startCall(caller, run.id, how).done;
  const operation = bench.gateway.operations.get(operation_id as OperationId);
  await untilDone(bench.time, 500, () => operation.checks > 0);
  return operation;
}

/** Until the store has it too. */
async function ended(how: "failed" | "succeeded"): Promise<void> {
  state = how;
  await untilDone(bench.time, 500, () => bench.rows("operations", how).length === 1);
}

/** An agent's wish, which waits for a person. */
async function asked(what: JobErrand, { id }: Operation): Promise<{ readonly done: Promise<unknown> }> {
  const { done } = bench.gateway.startErrand(caller, id, what, "please");
  done.catch(() => undefined);
  await bench.waiting();
  return { done };
}

const resumeByHand = ({ id }: Operation) => bench.gateway.operations.resume(id, "ada", "by hand");
const wishes = (): number =>
  provider.received.filter(({ method, url }) => method === "DELETE" || url.endsWith("/resume")).length;

test("a job that ended while a person thought about cancelling it is not cancelled", async () => {
  const operation = await create();
  const cancel = await asked("cancel", operation);
  await ended("succeeded");
  await bench.approve();
  await assert.rejects(cancel.done, denies("operation_not_cancellable"));
  assert.deepEqual([wishes(), operation.cancel], [0, null]);
});

test("nobody else may look at a job while the wish to cancel it is on its way", async () => {
  const operation = await create();
  learn(operation, { kind: "look_again", at: null });
  const leftMs = () => (operation.lease?.expires_boot_ms ?? 0) - bench.time.clock.bootMs();
  await bench.time.advance(leftMs() + 1);
  let held = false;
  wish = (response) => {
    held = leftMs() > 0;
    answerJson(response, 202, {});
  };
  await bench.gateway.operations.cancel(operation.id, "ada", "not needed");
  assert.deepEqual([operation.state, held], ["cancelling", true]);
});

test("a job whose definition has no way to cancel is cancelled by nobody", async () => {
  await bench.close();
  await startGateway(undefined, (pack) => pack.replace("      cancel: report.cancel\n", ""));
  const { id } = await create();
  await assert.rejects(bench.gateway.startErrand(caller, id, "cancel", "x").done, denies("operation_not_cancellable"));
  await assert.rejects(bench.gateway.operations.cancel(id, "ada", "x"), denies("operation_not_cancellable"));
  assert.equal(wishes(), 0);
});

test("while work is being resumed nobody else is asked whether to, and no earlier yes resumes it beside that", async () => {
  const operation = await create();
  await ended("failed");
  const earlier = await asked("resume", operation);
  const gate = Promise.withResolvers<void>();
  wish = (response) => gate.promise.then(() => answerJson(response, 202, { job_id: "job-1", state: "queued" }));
  const byHand = resumeByHand(operation);
  await untilDone(bench.time, 0, () => wishes() === 1);
  const again = bench.gateway.startErrand(caller, operation.id, "resume", "once more");
  await assert.rejects(again.done, denies("operation_not_resumable"));
  await bench.approve();
  await assert.rejects(earlier.done, denies("operation_not_resumable"));
  gate.resolve();
  assert.equal((await byHand).state, "observing");
  assert.equal(wishes(), 1);
});

test("work that was resumed while a person thought about resuming it is not resumed again", async () => {
  const operation = await create();
  await ended("failed");
  const resume = await asked("resume", operation);
  state = "running";
  await resumeByHand(operation);
  await bench.approve();
  await assert.rejects(resume.done, denies("operation_not_resumable"));
  assert.deepEqual([wishes(), operation.resumes.length], [1, 1]);
});

test("what policy wants a passkey or two people for is not resumed on one operator's login; a stop is", async () => {
  const operation = await create();
  await ended("failed");
  const all = { all: true, effects: [], credentials: [], packs: [] };
  for (const rules of [
    { passkey: null, twoPeople: ["acme.report.resume"] },
    { passkey: all, twoPeople: [] },
  ]) {
    bench.posture.decisions = { rules, where: [] };
    await assert.rejects(resumeByHand(operation), denies("operation_not_resumable"));
    const signed = bench.errand(operation.id, { errand: "resume", nonce: String(rules.twoPeople.length) });
    await assert.rejects(bench.gateway.errand(signed), denies("operation_not_resumable"));
  }
  assert.equal(wishes(), 0);
  bench.posture.decisions = { rules: { passkey: null, twoPeople: ["acme.report.cancel"] }, where: [] };
  state = "running";
  await resumeByHand(operation);
  await bench.gateway.operations.cancel(operation.id, "ada", "stop");
  assert.equal(wishes(), 2);
});

test("a resume that is tried again when the work has ended takes nothing of its result away", async () => {
  const operation = await create();
  await ended("failed");
  const { done } = await asked("resume", operation);
  wish = (response) => {
    state = "succeeded";
    if (wishes() === 1) response.writeHead(503, { "retry-after": "30" }).end();
    else answerJson(response, 202, { job_id: "job-1", state: "queued" });
  };
  await bench.approve();
  await untilDone(bench.time, 0, () => operation.state === "observing");
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.deepEqual([operation.state, wishes()], ["succeeded", 1]);
  let over = false;
  void done.finally(() => (over = true));
  await untilDone(bench.time, 500, () => over);
  assert.equal(wishes(), 2);
  assert.deepEqual([operation.state, { ...(operation.result as JsonObject) }], ["succeeded", { rows: 42 }]);
});

test("work that failed again after a resume without an answer is not taken for resumed by a start", async () => {
  const operation = await create();
  await ended("failed");
  wish = (response) => void response.destroy();
  await resumeByHand(operation);
  assert.equal(operation.resumes[0]?.outcome, "unknown");
  await untilDone(bench.time, 500, () => bench.rows("operations", "failed").some(({ resumes }) => isUnknown(resumes)));
  await startAgain();
  assert.deepEqual([bench.gateway.operations.list(), bench.rows("operations", "failed").length], [[], 1]);
});

const isUnknown = (resumes: unknown): boolean => (resumes as { outcome: string }[])[0]?.outcome === "unknown";

test("a cancel that was on its way when the job failed and the gateway stopped resumes nothing", async () => {
  const operation = await create();
  wish = () => undefined;
  bench.gateway.operations.cancel(operation.id, "ada", "not needed").catch(() => undefined);
  await untilDone(bench.time, 0, () => wishes() === 1);
  await ended("failed");
  await startAgain();
  assert.deepEqual([bench.gateway.operations.list(), bench.rows("operations", "failed").length], [[], 1]);
  assert.deepEqual(bench.gateway.operations.get(operation.id).resumes, []);
});

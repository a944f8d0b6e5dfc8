import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { learn, type Operation } from "../src/gateway/operation/operations.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId, SessionId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Nothing of these names a read to find out with; some name one that confirms. */
const MORE = `
  draft.save:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: /v1/drafts, body: application/json }
    input: { of: { in: body, type: string, maxLength: 64 }, name: { in: body, type: string, maxLength: 64 } }
    confirm: draft.get
  draft.get:
    effect: read
    request: { method: GET, path: "/v1/drafts/{of}" }
    input: { of: { in: path, type: string, maxLength: 64 } }
  reel.start:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/reels, body: application/json }
    input: { operation_id: { in: body, type: string, maxLength: 64 }, name: { in: body, type: string, maxLength: 64 } }
    job: { id: job_id, status: report.status, succeeded: [succeeded], failed: [failed] }
    unknown: { reconcile: reel.get }
  reel.get:
    effect: read
    request: { method: GET, path: "/v1/reels/{operation_id}" }
    input: { operation_id: { in: path, type: string, maxLength: 64 } }
  spool.start:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/spools, body: application/json }
    input:
      operation_id: { in: body, type: string, maxLength: 64, optional: true }
      of: { in: body, type: string, maxLength: 64 }
    job: { id: job_id, status: report.status, succeeded: [succeeded], failed: [failed] }
    unknown: { reconcile: spool.find }
  spool.find:
    effect: read
    request: { method: GET, path: "/v1/things/{of}/spool" }
    input:
      operation_id: { in: query, type: string, maxLength: 64, optional: true }
      of: { in: path, type: string, maxLength: 64 }
  parcel.send:
    effect: write
    retry: idempotent_write
    request: { method: POST, path: /v1/parcels, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
    confirm: report.by_reference
    unknown: { reconcile: token_retry }
  draft.send:
    effect: write
    retry: idempotent_write
    request: { method: POST, path: "/v1/drafts/{id}/send", body: application/json }
    input: { id: { in: path, type: string, maxLength: 64 }, name: { in: body, type: string, maxLength: 64 } }
    confirm: thing.get
    unknown: { reconcile: token_retry }
  film.start:
    effect: create
    retry: idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: "/v1/films/{id}", body: application/json }
    input: { id: { in: path, type: string, maxLength: 64 }, name: { in: body, type: string, maxLength: 64 } }
    job: { id: job_id, status: report.status, succeeded: [succeeded], failed: [failed] }
    confirm: thing.get
  clip.start:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: "/v1/clips/{id}", body: application/json }
    input: { id: { in: path, type: string, maxLength: 64 }, name: { in: body, type: string, maxLength: 64 } }
    job: { id: job_id, status: report.status, succeeded: [succeeded], failed: [failed] }
    unknown: { reconcile: thing.get }
`;
const ACTIONS = [
  "draft.save",
  "draft.send",
  "film.start",
  "clip.start",
  "report.create",
  "parcel.send",
  "reel.start",
  "spool.start",
].map((name) => `acme.${name}`);
const BEGUN = "reconciliation";
const INPUT = { id: "7", name: "new" };
const DRAFT = { of: "7", name: "new" };

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let folder: string;
let read: (response: ServerResponse) => void;
/** The log has no room for a read that would find out. */
let crowded: boolean;

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  read = (response) => answerJson(response, 200, INPUT);
  provider.answer(({ method }, response) => (method === "POST" ? void response.destroy() : read(response)));
  caller = scriptedCaller();
  crowded = false;
  await startGateway();
  run = await bench.openApproved(caller, ACTIONS);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(time?: ManualTime): Promise<void> {
  bench = await startBench(`${consequentialPack(provider.origin)}${MORE}`, {
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      async append(events) {
        const begins = events.some((event) => event.event_type === "operation_transition" && event.to === BEGUN);
        if (crowded && begins) throw new Denied("log_backlogged", "full");
        return sink.append(events);
      },
    }),
  });
}

/** A call whose answer is lost. No time passes: nobody has looked for it yet. */
async function lose(action: string, input: JsonObject = INPUT): Promise<Operation> {
  const { done } = bench.gateway.startCall(caller, run.id, { action: `acme.${action}`, input });
  const { outcome, operation_id } = await done;
  assert.equal(outcome, "unknown");
  return bench.gateway.operations.get(operation_id as OperationId);
}

const sent = (method: string): number => provider.received.filter((one) => one.method === method).length;
/** Once it is in the log as well. */
const ended = (operation: Operation) =>
  untilDone(bench.time, 500, () => operation.state === "succeeded" && bench.eventsOf("reconciled_success").length > 0);

test("where a definition names no read to find out with, the one that confirms serves, and that of a job does not", async () => {
  read = (response) => answerJson(response, 200, DRAFT);
  const saved = await lose("draft.save", DRAFT);
  assert.equal(bench.gateway.operations.readRefusal(saved), null);
  await ended(saved);
  assert.equal(provider.received.at(-1)?.url, "/v1/drafts/7");
  assert.deepEqual(
    saved.history.map(({ actor }) => actor),
    saved.history.map(() => caller.key),
  );
  const [{ source, evidence, receipt, operation_id } = assert.fail()] = bench.eventsOf("reconciled_success");
  assert.deepEqual([source, evidence, operation_id], ["acme.draft.get", "reconciliation_read", saved.id]);
  assert.match(receipt, /^sha256:/);
  assert.deepEqual([sent("POST"), sent("GET")], [1, 1]);
  const film = await lose("film.start");
  assert.equal(bench.gateway.operations.readRefusal(film)?.code, "operation_not_reconcilable");
  await untilDone(bench.time, 500, () => film.problem !== null);
  assert.deepEqual([film.state, film.problem?.code], ["create_unknown", "operation_not_reconcilable"]);
  assert.equal(sent("GET"), 1);
});

test("what may not be repeated under its token any more is still looked for by the read that confirms it", async () => {
  const operation = await lose("draft.send");
  await bench.gateway.revoke(bench.revocation(run.sessions.get(caller.key)?.id as SessionId));
  await ended(operation);
  assert.deepEqual([sent("POST"), sent("GET")], [1, 1]);
  assert.deepEqual(
    operation.history.slice(-2).map(({ to, actor }) => [to, actor]),
    [
      ["reconciliation", "gateway"],
      ["succeeded", "gateway"],
    ],
  );
});

test("a read that the log has no room for is not sent, and leaves what it would find out as unknown as before", async () => {
  const operation = await lose("draft.save", DRAFT);
  crowded = true;
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.deepEqual([operation.state, operation.problem, sent("GET")], ["create_unknown", null, 0]);
  crowded = false;
  read = (response) => answerJson(response, 200, DRAFT);
  await ended(operation);
});

test("a read that nobody answers tells nothing, counts as one that failed, and is made again", async () => {
  const operation = await lose("draft.save", DRAFT);
  const { nextPoll } = operation;
  read = (response) => void response.destroy();
  await bench.gateway.operations.reconcile(operation.id, "ada");
  const [{ reason, source, operation_id } = assert.fail()] = bench.eventsOf("reconciliation_inconclusive");
  assert.deepEqual([reason, source, operation_id], ["no_answer", "acme.draft.get", operation.id]);
  assert.deepEqual([operation.state, operation.faults, operation.checks], ["create_unknown", 1, 0]);
  assert.ok(operation.nextPoll !== null && operation.nextPoll !== nextPoll, "it is looked for at a later time");
  assert.equal(bench.eventsOf("operation_transition").at(-1)?.to, "create_unknown");
  assert.equal(bench.rows("operations", "create_unknown").length, 1);
  read = (response) => answerJson(response, 200, DRAFT);
  await ended(operation);
});

test("the reads of a job whose creation nobody saw are counted from when it is found", async () => {
  const operation = await lose("report.create", { account: "a1" });
  const look = () => bench.gateway.operations.reconcile(operation.id, "ada");
  read = (response) => answerJson(response, 500, {});
  await look();
  assert.deepEqual([operation.state, operation.faults], ["create_unknown", 1]);
  read = (response) => answerJson(response, 200, { job_id: "job-1" });
  await look();
  assert.deepEqual([operation.state, operation.faults, operation.checks], ["accepted", 0, 0]);
});

test("a job that is found by what it is about, and is another operation's, is not taken for its own", async () => {
  let [job, state] = ["job-1", "running"];
  const answer = (response: ServerResponse) => answerJson(response, 200, { job_id: job, state });
  read = answer;
  provider.answer((_request, response) => answer(response));
  const first = bench.gateway.startCall(caller, run.id, { action: "acme.clip.start", input: INPUT });
  const { id } = bench.gateway.operations.get((await first.done).operation_id as OperationId);
  state = "succeeded";
  await untilDone(bench.time, 500, () => bench.rows("operations", "succeeded").length === 1);
  provider.answer(({ method }, response) => (method === "POST" ? void response.destroy() : answer(response)));
  const found = async (operation: Operation) => {
    await bench.gateway.operations.reconcile(operation.id, "ada");
    return [operation.state, operation.remoteJobId];
  };
  const second = await lose("clip.start");
  assert.notEqual(second.id, id);
  assert.deepEqual(await found(second), ["create_unknown", null]);
  // A start forgets what has ended; its row does not.
  await bench.abandon();
  await startGateway(bench.time);
  const again = bench.gateway.operations.get(second.id);
  assert.deepEqual(await found(again), ["create_unknown", null]);
  job = "job-2";
  assert.deepEqual(await found(again), ["accepted", "job-2"]);
});

test("a name that the agent gives twice finds the job of the first call, which is not the second one's", async () => {
  const named = (response: ServerResponse) => answerJson(response, 200, { job_id: "job-1", state: "running" });
  provider.answer((_request, response) => named(response));
  const start = (name: string) =>
    bench.gateway.startCall(caller, run.id, { action: "acme.reel.start", input: { operation_id: "mine", name } }).done;
  await start("first");
  provider.answer(({ method }, response) => (method === "POST" ? void response.destroy() : named(response)));
  const { operation_id } = await start("another");
  const second = bench.gateway.operations.get(operation_id as OperationId);
  await bench.gateway.operations.reconcile(second.id, "ada");
  assert.deepEqual([second.state, second.remoteJobId], ["create_unknown", null]);
});

test("what is not found is proven absent from its deadline on", async () => {
  const operation = await lose("report.create", { account: "a1" });
  // Only who asks looks.
  learn(operation, { kind: "look_again", at: null });
  read = (response) => answerJson(response, 404, {});
  await bench.time.advance(operation.createDeadline.bootMs - bench.time.clock.bootMs());
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.deepEqual([operation.state, sent("GET")], ["failed", 1]);
});

test("what could have been looked for by a name and has none is not proven absent", async () => {
  read = (response) => answerJson(response, 404, {});
  for (const [input, state] of [
    [{ of: "7" }, "create_unknown"],
    [{ of: "7", operation_id: "mine" }, "failed"],
  ] as const) {
    const operation = await lose("spool.start", input);
    learn(operation, { kind: "look_again", at: null });
    await bench.time.advance(operation.createDeadline.bootMs - bench.time.clock.bootMs());
    await bench.gateway.operations.reconcile(operation.id, "ada");
    assert.equal(operation.state, state, JSON.stringify(input));
  }
});

for (const [action, again] of [
  ["report.create", "a try that its provider asked to wait for"],
  ["parcel.send", "a repeat under its token"],
] as const) {
  test(`${again} may still arrive for as long as the first one may`, async () => {
    const sentMs: number[] = [];
    provider.answer(({ method }, response) => {
      if (method !== "POST") return answerJson(response, 404, {});
      sentMs.push(bench.time.clock.bootMs());
      if (action !== "report.create" || sentMs.length > 1) return void response.destroy();
      response.setHeader("retry-after", "40");
      return answerJson(response, 503, {});
    });
    const input = action === "report.create" ? { account: "a1" } : { name: "new" };
    void bench.gateway.startCall(caller, run.id, { action: `acme.${action}`, input }).done;
    const one = (): Operation | undefined => bench.gateway.operations.list()[0];
    await untilDone(bench.time, 500, () => one()?.state === "failed");
    const [lastMs = 0, endedMs] = [sentMs.at(-1), bench.time.clock.bootMs()];
    assert.ok(sentMs.length > 1);
    assert.ok(endedMs - lastMs >= defaults.jobCreateDeadlineMs, `${endedMs - lastMs} ms after it was sent`);
  });
}

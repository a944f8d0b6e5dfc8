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
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { githubHeaders, openCallbacks, post, standardHeaders } from "./support/callbacks.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";

let accounts = 0;
/** Every report is one of its own: the same one is not started twice while it is open. */
const nextAccount = (): string => `a${++accounts}`;

const KEY = Buffer.alloc(32, 7);
const OTHER_KEY = Buffer.alloc(32, 8);
const RULE = "  callbacks: { verify: standard_webhooks, credential: acme-hook, job_id: /data/job_id }\n";

let provider: TestProvider;
let bench: Bench;
let door: Awaited<ReturnType<typeof openCallbacks>>;
let caller: ScriptedCaller;
let run: Run;
let folder: string;
let jobs: {
  state: string;
  serial: number;
  id: string | null;
  held: ((answer: () => void) => void) | null;
  status: (() => void) | null;
};
let events = 0;

function answerJobs({ method, url }: Received, response: ServerResponse): unknown {
  const creates = method === "POST" && url === "/v1/reports";
  if (creates) {
    const id = `job-${++jobs.serial}`;
    const answer = () => answerJson(response, 202, { job_id: id, state: "queued", status_url: `/v1/jobs/${id}` });
    return jobs.held === null ? answer() : jobs.held(answer);
  }
  if (url.endsWith("/result")) return answerJson(response, 200, { rows: 42 });
  if (method === "GET" && url.startsWith("/v1/jobs/")) {
    jobs.status?.();
    return answerJson(response, 200, { job_id: jobs.id ?? url.split("/").at(-1), state: jobs.state });
  }
  return answerJson(response, 200, {});
}

/** Polls are a minute apart, so that whatever is read sooner was read because of a callback. */
function packOf(origin: string, rule = RULE): string {
  return consequentialPack(origin)
    .replace("actions:\n", `${rule}actions:\n`)
    .replace("result_deadline_s: 120", "result_deadline_s: 3600")
    .replace("poll: { first_s: 2, cap_s: 16, max_checks: 12 }", "poll: { first_s: 60, cap_s: 60, max_checks: 12 }");
}

async function startGateway(rule?: string, time?: ManualTime): Promise<void> {
  bench = await startBench(packOf(provider.origin, rule), {
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    callbackKeys: { "acme acme-hook": KEY },
  });
  door = await openCallbacks(bench);
}

async function restart(rule?: string): Promise<void> {
  const { time } = bench;
  door.close();
  await bench.close();
  await startGateway(rule, time);
}

beforeEach(async () => {
  provider = await startProvider();
  provider.answer(answerJobs);
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  jobs = { state: "running", serial: 0, id: null, held: null, status: null };
  caller = scriptedCaller();
  await startGateway();
  run = await openApproved();
});
afterEach(async () => {
  door.close();
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openApproved(limits = {}): Promise<Run> {
  return bench.openApproved(caller, ["acme.report.create", "acme.report.cancel"], limits);
}

async function create(): Promise<Operation> {
  const call = bench.gateway.startCall(caller, run.id, {
    action: "acme.report.create",
    input: { account: nextAccount() },
  });
  const result = await call.done;
  return bench.gateway.operations.get(result.operation_id as OperationId);
}

/** Accepted and looked at once, so that the next scheduled look is a minute away. */
async function observed(): Promise<Operation> {
  const operation = await create();
  await untilDone(bench.time, 5_000, () => operation.checks === 1);
  await settle();
  return operation;
}

const settle = () => bench.time.advance(0);
const nowS = (): number => Math.floor(bench.time.clock.wallMs() / 1000);
const bodyOf = (jobId: unknown, more: JsonObject = {}): string =>
  JSON.stringify({ type: "report.succeeded", data: { job_id: jobId, state: "succeeded", ...more } });

/** An honest callback about a job. */
function tell(jobId: unknown, id = `evt_${++events}`, body = bodyOf(jobId)) {
  return post(`${door.url}/callbacks/acme`, body, standardHeaders(KEY, id, nowS(), body));
}

const effects = (): readonly string[] => bench.eventsOf("callback_received").map(({ effect }) => effect);
const refusals = (): readonly string[] => bench.eventsOf("callback_refused").map(({ code }) => code);
const polls = (): number => provider.received.filter(({ url }) => /^\/v1\/jobs\/[^/]+$/.test(url)).length;

test("a verified callback makes the status be read at once, and the read moves the record", async () => {
  const operation = await observed();
  // The last read was longer ago than the gap between two.
  await bench.time.advance(5_000);
  jobs.state = "succeeded";
  const before = bench.time.clock.bootMs();
  assert.deepEqual(await tell("job-1"), { status: 202, code: "", text: "" });
  await untilDone(bench.time, 1, () => operation.state === "succeeded");
  assert.ok(bench.time.clock.bootMs() - before < defaults.callbackReadGapMs, "long before the schedule");
  assert.deepEqual(
    operation.history.map(({ to }) => to),
    ["accepted", "observing", "result_collecting", "succeeded"],
  );
  const [taken] = bench.eventsOf("callback_received");
  assert.deepEqual(
    [taken?.effect, taken?.operation_id, taken?.run_id, taken?.remote_job_id, taken?.pack],
    ["read_scheduled", operation.id, run.id, "job-1", "acme"],
  );
  assert.equal(taken?.peer, "127.0.0.1");
});

test("a callback that claims success while the status says running leaves the record observing", async () => {
  const operation = await observed();
  const { checks, nextPoll } = operation;
  const before = polls();
  await tell("job-1", "evt_lie", bodyOf("job-1", { progress: 100 }));
  await untilDone(bench.time, 200, () => polls() === before + 1);
  await settle();
  assert.equal(operation.state, "observing");
  assert.equal(operation.remoteState, "running");
  assert.equal(operation.checks, checks, "no check of the schedule was used");
  assert.deepEqual(operation.nextPoll, nextPoll, "the schedule stands");
});

test("a repeated event is recorded and reads nothing, also after a restart", async () => {
  await observed();
  const before = polls();
  assert.equal((await tell("job-1", "evt_twice")).status, 202);
  await untilDone(bench.time, 200, () => polls() === before + 1);
  assert.equal((await tell("job-1", "evt_twice")).status, 202);
  await bench.time.advance(10_000);
  assert.equal(polls(), before + 1);
  assert.deepEqual(effects(), ["read_scheduled", "repeated"]);
  await restart();
  await tell("job-1", "evt_twice");
  assert.equal(effects().at(-1), "repeated");
});

test("event identifiers are kept in as many rows as are remembered", async () => {
  const wanted = defaults.callbackEventsRemembered + 20;
  for (let n = 0; n < wanted; n++) {
    if (n % 10 === 0) await bench.time.advance(1_000);
    await bench.gateway.callbacks.receive(received("nobody", `evt_row_${n}`));
  }
  assert.equal(bench.rows("notes", "callback").length, defaults.callbackEventsRemembered);
  await bench.gateway.callbacks.receive(received("nobody", `evt_row_${wanted - 1}`));
  await bench.time.advance(5_000);
  assert.ok(effects().includes("repeated"));
});

/** The same as over the socket, for what is about numbers. */
function received(jobId: string, id: string) {
  const body = bodyOf(jobId);
  const rawHeaders = Object.entries(standardHeaders(KEY, id, nowS(), body)).flat();
  return { pack: "acme", peer: "127.0.0.1", correlationId: id, rawHeaders, body: Buffer.from(body) };
}

test("a row of the memory that somebody changed is reported and not used", async () => {
  await tell("job-9", "evt_row");
  const { DatabaseSync } = await import("node:sqlite");
  door.close();
  const { time } = bench;
  await bench.close();
  const file = new DatabaseSync(join(folder, "state.db"));
  const changed = file.prepare("update notes set sealed = zeroblob(80) where state = 'callback'").run();
  file.close();
  assert.equal(Number(changed.changes), 1);
  await startGateway(undefined, time);
  assert.equal(bench.eventsOf("state_tampered").length, 1);
});

test("a flood of callbacks about one job is one read now and then, and never uses up the schedule", async () => {
  const operation = await observed();
  const before = polls();
  for (let n = 0; n < 400; n++) {
    await bench.gateway.callbacks.receive(received("job-1", `evt_flood_${n}`));
    await bench.time.advance(30);
  }
  await bench.time.advance(2_000);
  const scheduled = operation.checks - 1;
  assert.ok(polls() - before <= defaults.callbackReads + scheduled, `${polls() - before}`);
  assert.ok(polls() - before >= 2);
  assert.equal(operation.problem, null);
  assert.equal(operation.state, "observing");
  const inLog = (): number =>
    bench.eventsOf("callbacks_counted").reduce((sum, { count }) => sum + count, effects().length);
  // Each is in the log, one by one or counted.
  await untilDone(bench.time, 0, () => inLog() === 400);
  assert.ok(effects().length < 300, "and the log is not filled by them");
  jobs.state = "succeeded";
  await untilDone(bench.time, 10_000, () => operation.state === "succeeded");
});

test("a callback that arrives before the answer to the creation is applied once the job has its name", async () => {
  let answer = (): void => undefined;
  jobs.held = (given) => {
    answer = given;
  };
  jobs.state = "succeeded";
  const creating = create();
  await untilDone(bench.time, 0, () => jobs.serial === 1);
  await tell("job-1");
  assert.deepEqual(effects(), ["kept_for_creation"]);
  await tell("job-other");
  answer();
  const operation = await creating;
  const before = bench.time.clock.bootMs();
  await untilDone(bench.time, 200, () => operation.state === "succeeded");
  assert.ok(bench.time.clock.bootMs() - before < 30_000);
});

test("an unknown job is recorded and ignored", async () => {
  const operation = await observed();
  const before = polls();
  assert.equal((await tell("job-404")).status, 202);
  assert.equal((await tell(null)).status, 202);
  await bench.time.advance(10_000);
  assert.deepEqual(effects(), ["job_unknown", "job_unnamed"]);
  assert.equal(polls(), before);
  assert.equal(operation.state, "observing");
});

test("a settled operation is not changed by a late callback", async () => {
  const operation = await observed();
  jobs.state = "succeeded";
  await tell("job-1");
  await untilDone(bench.time, 200, () => operation.state === "succeeded");
  const before = [polls(), operation.history.length];
  jobs.state = "failed";
  await tell("job-1");
  await bench.time.advance(120_000);
  assert.equal(effects().at(-1), "operation_settled");
  assert.deepEqual([polls(), operation.history.length, operation.state], [...before, "succeeded"]);
});

test("work that is resumed has its reads anew, those that callbacks ask for among them", async () => {
  const operation = await create();
  const { limits } = operation.purse.budget;
  jobs.state = "failed";
  await untilDone(bench.time, 5_000, () => operation.state === "failed");
  assert.notEqual(operation.purse.budget.attemptsUsed, 0);
  await bench.gateway.operations.resume(operation.id, "ada", "space was made");
  const { budget } = operation.purse;
  assert.deepEqual([operation.state, budget.attemptsUsed, budget.limits], ["observing", 0, limits]);
});

test("a callback never revives an expired run: the gateway reads as custodian, and nothing opens again", async () => {
  const operation = await observed();
  caller.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => run.state === "ended");
  const sessions = bench.eventsOf("session_started").length;
  jobs.state = "succeeded";
  await tell("job-1");
  await untilDone(bench.time, 200, () => operation.state === "succeeded");
  assert.equal(operation.custodian, true);
  assert.equal(operation.history.at(-1)?.actor, "gateway");
  assert.equal(run.state, "ended");
  assert.equal(bench.eventsOf("session_started").length, sessions);
});

test("after the run, callbacks leave the custodian's own reads alone", async () => {
  const operation = await observed();
  caller.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => run.state === "ended");
  const before = polls();
  for (let n = 0; n < 30; n++) {
    await bench.gateway.callbacks.receive(received("job-1", `evt_c_${n}`));
    await bench.time.advance(2_500);
  }
  await untilDone(bench.time, 30_000, () => operation.problem !== null);
  assert.equal(operation.problem?.code, "poll_allowance_exhausted");
  const beside = operation.hinted.reads;
  assert.ok(beside > 0 && beside <= defaults.callbackReads, String(beside));
  assert.equal(polls() - before - beside, defaults.custodianReads);
});

test("what only a person may go on with is not restarted by a callback", async () => {
  const operation = await observed();
  learn(operation, { kind: "automation_stopped", code: "operation_needs_person", detail: "a test says so" });
  jobs.state = "succeeded";
  const before = polls();
  await tell("job-1");
  await bench.time.advance(120_000);
  assert.deepEqual([effects().at(-1), polls(), operation.state], ["operation_stopped", before, "observing"]);
});

test("a callback during a read is answered by another one", async () => {
  const operation = await observed();
  const before = polls();
  await bench.time.advance(5_000);
  let told: Promise<unknown> | null = null;
  const at: number[] = [];
  jobs.status = () => {
    at.push(bench.time.clock.bootMs());
    told ??= tell("job-1", "evt_during").then(() => (jobs.state = "succeeded"));
  };
  await tell("job-1", "evt_first");
  await untilDone(bench.time, 200, () => operation.state === "succeeded");
  await told;
  assert.equal(polls() - before, 2);
  assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= defaults.callbackReadGapMs, "not at once");
});

test("a callback that waits for its read is dropped when automation stops meanwhile", async () => {
  const operation = await observed();
  const before = polls();
  let told: Promise<unknown> | null = null;
  jobs.status = () => {
    jobs.status = null;
    jobs.id = "job-666";
    told = tell("job-1", "evt_meanwhile");
  };
  await tell("job-1", "evt_first");
  await untilDone(bench.time, 200, () => operation.problem !== null);
  await told;
  await bench.time.advance(120_000);
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.equal(polls() - before, 1, "nothing more is read");
});

test("a credential that is disabled for a moment does not end automation because a callback came then", async () => {
  const operation = await observed();
  const held = { eachUse: false, disabled: false, origin: provider.origin };
  const { faults, nextPoll } = operation;
  bench.credentials.set("acme-token", { ...held, disabled: true });
  await tell("job-1");
  const refused = () => bench.eventsOf("action_finished").filter(({ reason }) => reason === "credential_refused");
  await untilDone(bench.time, 200, () => refused().length === 1);
  await bench.time.advance(3_000);
  assert.equal(operation.problem, null);
  assert.deepEqual([operation.faults, operation.nextPoll], [faults, nextPoll], "the schedule never heard of it");
  bench.credentials.set("acme-token", held);
  jobs.state = "succeeded";
  await untilDone(bench.time, 5_000, () => operation.state === "succeeded");
});

test("what refuses a read that a callback brought about does not end automation: the schedule finds that out in its own time", async () => {
  const operation = await observed();
  const { packDigest } = operation;
  Object.assign(operation, { packDigest: "sha256:another" });
  await tell("job-1");
  await untilDone(bench.time, 100, () => operation.hinted.reads === 1);
  await untilDone(bench.time, 0, () => !operation.hinted.underWay);
  const problem = () => operation.problem?.code;
  assert.equal(problem(), undefined);
  await untilDone(bench.time, 1_000, () => problem() !== undefined);
  assert.equal(problem(), "definition_changed");
  Object.assign(operation, { packDigest });
  jobs.state = "succeeded";
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.equal(operation.state, "succeeded");
});

test("after the session of a credential that asks on every use, a callback asks nobody", async () => {
  const operation = await observed();
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  caller.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => run.state === "ended");
  const [reads, due] = [polls(), operation.nextPoll];
  await tell("job-1");
  await untilDone(bench.time, 200, () => operation.hinted.reads === 1);
  await bench.time.advance(3_000);
  assert.deepEqual(bench.gateway.desk.list(), []);
  assert.deepEqual([polls(), operation.nextPoll], [reads, due], "the schedule asks when its time has come");
});

test("a callback is matched within its pack and its account alone", async () => {
  const [ours, account, pack] = [await observed(), await create(), await create()];
  // Another account and another pack may well have a job of the same name.
  Object.assign(account, { remoteJobId: "job-1", credential: "another-token" });
  Object.assign(pack, { remoteJobId: "job-1", action: "other.report.create" });
  await tell("job-1");
  await untilDone(bench.time, 200, () => ours.hinted.reads === 1);
  assert.deepEqual([account.hinted.reads, pack.hinted.reads], [0, 0]);
  const hits = bench.eventsOf("callback_received").map(({ operation_id }) => operation_id);
  assert.deepEqual(hits, [ours.id]);
});

test("a callback about another caller's operation tells its sender what it tells about none", async () => {
  await observed();
  const told = await tell("job-1");
  const unknown = await tell("job-404");
  assert.deepEqual(told, unknown);
  const stranger = scriptedCaller();
  assert.throws(() =>
    bench.gateway.operation(stranger, bench.eventsOf("callback_received")[0]?.operation_id as OperationId),
  );
});

test("nothing of a callback reaches the agent or the log but digests and names", async () => {
  const operation = await observed();
  const body = bodyOf("job-1", { note: "raw-body-secret-text" });
  await tell("job-1", "evt_body", body);
  await untilDone(bench.time, 200, () => polls() >= 2);
  const seen = JSON.stringify(bench.gateway.operation(caller, operation.id));
  assert.ok(!seen.includes("raw-body-secret-text"));
  const logged = JSON.stringify(bench.events());
  assert.ok(!logged.includes("raw-body-secret-text"));
  assert.match(bench.eventsOf("callback_received")[0]?.body_digest ?? "", /^sha256:[0-9a-f]{64}$/);
});

test("an unknown pack, a wrong signature, an old one and a locked gateway look the same", async () => {
  await observed();
  const body = bodyOf("job-1");
  const honest = () => standardHeaders(KEY, "evt_same", nowS(), body);
  const url = `${door.url}/callbacks/acme`;
  const before = polls();
  const answers = [
    await post(`${door.url}/callbacks/nobody`, body, honest()),
    await post(`${door.url}/callbacks/ACME%20`, body, honest()),
    await post(url, body, standardHeaders(OTHER_KEY, "evt_same", nowS(), body)),
    await post(url, body.replace("job-1", "job-2"), honest()),
    await post(url, body, {}),
    await post(url, body, standardHeaders(KEY, "evt_same", nowS() - 301, body)),
    await post(url, body, standardHeaders(KEY, "evt_same", nowS() + 301, body)),
  ];
  await bench.gateway.lock("lunch", "ada");
  answers.push(await post(url, body, honest()));
  const [first] = answers.map(bare);
  assert.deepEqual([first?.status, first?.code], [404, "callback_refused"]);
  for (const answer of answers) assert.deepEqual(bare(answer), first);
  await bench.time.advance(10_000);
  assert.equal(polls(), before);
  const strangers = ["callback_pack_unknown", "callback_pack_unknown"];
  const forged = Array.from({ length: 3 }, () => "callback_signature_invalid");
  assert.deepEqual(refusals(), [...strangers, ...forged, "callback_too_old", "callback_too_old", "gateway_locked"]);
  assert.equal(bench.eventsOf("callback_refused")[0]?.pack, null, "what a stranger calls a pack is not written down");
  assert.deepEqual(effects(), []);
});

test("a refusal names the event that told of it, so that the request is not told of twice", async () => {
  const body = Buffer.from(bodyOf("job-1"));
  const strange = { pack: "nobody", peer: "127.0.0.1", correlationId: "evt_c", rawHeaders: [], body };
  await assert.rejects(bench.gateway.callbacks.receive(strange), (error) => {
    assert.ok(error instanceof Denied && error.code === "callback_refused");
    assert.deepEqual(error.circumstance.recordedAs, { eventId: bench.eventsOf("callback_refused")[0]?.event_id });
    return true;
  });
});

/** An answer without the name that each has of its own. */
function bare({ status, code, text }: { readonly status: number; readonly code: string; readonly text: string }) {
  return { status, code, text: text.replace(/"correlation_id":"[^"]*"/, "") };
}

test("a secret of another pack does not verify, and the vault lends it to nobody else", async () => {
  await restart(RULE.replace("acme-hook", "globex-hook"));
  const body = bodyOf("job-1");
  const reply = await post(`${door.url}/callbacks/acme`, body, standardHeaders(KEY, "evt_x", nowS(), body));
  assert.deepEqual([reply.status, reply.code], [404, "callback_refused"]);
  assert.deepEqual(refusals(), ["credential_not_bound"]);
});

test("the request itself is held to one media type, one length and strict framing, before anybody is asked", async () => {
  const url = `${door.url}/callbacks/acme`;
  const body = bodyOf("job-1");
  const honest = standardHeaders(KEY, "evt_shape", nowS(), body);
  const shaped = async (headers: Record<string, string | readonly string[]>, text: string | Buffer = body) =>
    (await post(url, text, { ...honest, ...headers })).code;
  assert.equal(await shaped({ "content-type": "text/plain" }), "media_type_unsupported");
  assert.equal(await shaped({ "content-type": "application/json; charset=latin1" }), "media_type_unsupported");
  assert.equal(await shaped({ "content-encoding": "gzip" }), "content_encoding_unsupported");
  assert.equal(await shaped({}, Buffer.alloc(defaults.callbackBodyBytes + 1, 0x20)), "body_too_large");
  assert.equal((await post(`${url}?x=1`, body, honest)).code, "schema_violation");
  assert.equal((await post(`${door.url}/callbacks/..%2Facme`, body, honest)).code, "segment_refused");
  assert.equal(await shaped({ "webhook-signature": [honest["webhook-signature"] ?? "", "v1,AA"] }), "callback_refused");
  assert.deepEqual(effects(), []);
  assert.equal((await post(url, body, honest)).status, 202);
});

test("a signed body that is not strict JSON is refused as unreadable, after its signature", async () => {
  for (const [index, body] of ['{"data":{"job_id":"a","job_id":"b"}}', "{", "", "[1,]"].entries()) {
    const reply = await tell("job-1", `evt_bad_${index}`, body);
    assert.deepEqual([reply.status, reply.code], [400, "callback_unreadable"], body);
  }
  const unsigned = await post(`${door.url}/callbacks/acme`, "{", {});
  assert.equal(unsigned.code, "callback_refused", "a stranger's bytes are not parsed");
});

test("callbacks with an HMAC of the body in a header are taken too, deduplicated by their delivery", async () => {
  const rule = `  callbacks:
    verify: hmac_sha256
    credential: acme-hook
    job_id: job
    event_id_header: X-GitHub-Delivery
    signature: { header: X-Hub-Signature-256, prefix: "sha256=" }
`;
  await restart(rule);
  run = await openApproved();
  const operation = await observed();
  jobs.state = "succeeded";
  const body = JSON.stringify({ job: operation.remoteJobId });
  const url = `${door.url}/callbacks/acme`;
  assert.equal((await post(url, body, githubHeaders(KEY, "d-1", body))).status, 202);
  assert.equal((await post(url, body, githubHeaders(KEY, "d-1", body))).status, 202);
  assert.equal((await post(url, body, githubHeaders(OTHER_KEY, "d-2", body))).status, 404);
  await untilDone(bench.time, 200, () => operation.state === "succeeded");
  assert.deepEqual(effects(), ["read_scheduled", "repeated"]);
});

test("a flood of forged callbacks becomes counted events, and its sender is slowed down", async () => {
  const body = bodyOf("job-1");
  const statuses = new Map<number, number>();
  for (let n = 0; n < defaults.callbacksBurstPerPeer + 40; n++) {
    const { status } = await post(
      `${door.url}/callbacks/acme`,
      body,
      standardHeaders(OTHER_KEY, "evt_f", nowS(), body),
    );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.deepEqual(
    [...statuses],
    [
      [404, defaults.callbacksBurstPerPeer],
      [429, 40],
    ],
  );
  await bench.time.advance(2_000);
  const counted = bench.eventsOf("callbacks_counted");
  assert.equal(refusals().length, defaults.denialsBurst);
  assert.deepEqual(
    counted.map(({ pack, what, count }) => [pack, what, count]),
    [["acme", "callback_signature_invalid", defaults.callbacksBurstPerPeer - defaults.denialsBurst]],
  );
  assert.equal((await tell("job-1")).status, 202, "a little later there is room again");
});

test("a callback that cannot be recorded is not remembered, so that its repeat counts", async () => {
  door.close();
  await bench.close();
  let failing = false;
  bench = await startBench(packOf(provider.origin), {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    callbackKeys: { "acme acme-hook": KEY },
    wrapAudit: (sink) => ({
      ...sink,
      head: () => sink.head(),
      append: async (batch) => {
        if (failing && batch.some(({ event_type }) => event_type === "callback_received")) {
          const { Denied } = await import("../src/kernel/failure.ts");
          throw new Denied("log_backlogged", "the queue is full");
        }
        return sink.append(batch);
      },
    }),
  });
  door = await openCallbacks(bench);
  failing = true;
  assert.notEqual((await tell("job-1", "evt_lost")).status, 202);
  failing = false;
  assert.equal((await tell("job-1", "evt_lost")).status, 202);
  assert.deepEqual(effects(), ["job_unknown"]);
});

test("the document of the plane is OpenAPI 3.1 and names neither packs nor versions", async () => {
  const reply = await fetch(`${door.url}/v1/openapi.json`);
  const text = await reply.text();
  const document = JSON.parse(text) as { openapi: string; paths: Record<string, unknown> };
  assert.equal(document.openapi, "3.1.0");
  assert.deepEqual(Object.keys(document.paths), ["/callbacks/{pack}", "/v1/openapi.json"]);
  assert.ok(!text.includes("acme"));
});

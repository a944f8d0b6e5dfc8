import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { operationRow } from "../src/gateway/operation/operation-row.ts";
import { learn, type Operation } from "../src/gateway/operation/operations.ts";
import type { HttpTransport, StateStore } from "../src/gateway/ports.ts";
import type { Run } from "../src/gateway/run/run.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type ManualTime, manualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, type BenchOptions, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let accounts = 0;
/** Every report is one of its own: the same one is not started twice while it is open. */
const nextAccount = (): string => `a${++accounts}`;

/** Gateways that share one store file, each with a log and a connection of its own. */
let provider: TestProvider;
let folder: string;
let time: ManualTime;
let jobs: Map<string, string>;
const open = new Set<Bench>();
const caller = scriptedCaller();

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-leases-"));
  time = manualTime();
  jobs = new Map();
  provider.answer(({ method, url }, response) => {
    if (method === "POST" && url === "/v1/reports") {
      const id = `job-${jobs.size + 1}`;
      jobs.set(id, "running");
      return answerJson(response, 202, { job_id: id, state: "queued", status_url: `/v1/jobs/${id}` });
    }
    const id = url.split("/")[3] ?? "";
    if (url.endsWith("/result")) return answerJson(response, 200, { rows: 42 });
    if (url.startsWith("/v1/jobs/")) {
      const progress = { completed: 1, total: 100 };
      return answerJson(response, 200, { job_id: id, state: jobs.get(id) ?? "running", updated_at: "x", progress });
    }
    if (url.startsWith("/operations/by-id/")) return answerJson(response, 200, { job_id: `job-${jobs.size}` });
    answerJson(response, method === "GET" ? 200 : 202, {});
  });
});
afterEach(async () => {
  for (const bench of open) await bench.close();
  open.clear();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(
  name: string,
  more: Partial<BenchOptions> = {},
  cents = 0,
  reconcile?: string,
  [from, to]: readonly [string, string] = ["", ""],
): Promise<Bench> {
  const usual = consequentialPack(provider.origin).replace(from, to);
  const costly = usual.replace("max_cost_cents: 0", `max_cost_cents: ${cents}`);
  const found = "retry_allowed: true, reconcile: report.by_reference";
  const pack = reconcile === undefined ? costly : costly.replace(found, `reconcile: ${reconcile}`);
  const bench = await startBench(pack, {
    folder,
    time,
    logFolder: name,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    ...more,
  });
  open.add(bench);
  return bench;
}

async function kill(bench: Bench): Promise<void> {
  open.delete(bench);
  await bench.abandon();
}

async function openRun(bench: Bench, spendCents = 0): Promise<Run> {
  const actions = ["acme.report.create", "acme.report.cancel", "acme.thing.get"];
  return bench.openApproved(caller, actions, { spendCents });
}

async function create(bench: Bench, run: Run): Promise<Operation> {
  const asked = bench.gateway.startCall(caller, run.id, {
    action: "acme.report.create",
    input: { account: nextAccount() },
  });
  const { operation_id } = await asked.done;
  return bench.gateway.operations.get(operation_id as OperationId);
}

/** A gate that a test opens: whoever comes before that waits. */
function gate(): { readonly passed: Promise<void>; reached: boolean; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, reached: false, open: resolve };
}

/** Reads of this gateway wait at the gate, with the answer in hand. */
function stalledReads(at: ReturnType<typeof gate>): Partial<BenchOptions> {
  return {
    wrapHttp: (http: HttpTransport): HttpTransport => ({
      async send(receipt, request, credential, limits) {
        const seen = await http.send(receipt, request, credential, limits);
        if (request.method === "GET") {
          at.reached = true;
          await at.passed;
        }
        return seen;
      },
    }),
  };
}

const stored = (bench: Bench, state: string): number => bench.rows("operations", state).length;

test("a worker that slept through its lease writes nothing over the other's progress", async () => {
  const slow = gate();
  const first = await start("first", stalledReads(slow));
  const mine = await create(first, await openRun(first));
  await untilDone(time, 1_000, () => slow.reached);
  const second = await start("second");
  jobs.set("job-1", "succeeded");
  const theirs = second.gateway.operations.get(mine.id);
  await time.advance(10_000);
  assert.equal(theirs.checks, 0, "the other holds the lease");
  await untilDone(time, 5_000, () => theirs.state === "succeeded");
  const history = [...theirs.history];
  slow.open();
  await untilDone(time, 1_000, () => mine.state === "succeeded");
  assert.deepEqual([stored(second, "succeeded"), stored(second, "observing")], [1, 0]);
  assert.deepEqual(mine.history, history, "what the other wrote is what this one goes by");
  const late = first.events().filter((event) => event.event_type === "action_finished" && "operation_id" in event);
  assert.ok(late.length >= 2, "what it saw late is in its log all the same");
});

test("a worker that slept between its lease and its intent sends nothing", async () => {
  const slow = gate();
  let held = false;
  const first = await start("first", {
    wrapStore: (store): StateStore => ({
      ...store,
      async commit(rows, durability) {
        if (held && rows.some(({ table }) => table === "attempts")) {
          slow.reached = true;
          await slow.passed;
        }
        return store.commit(rows, durability);
      },
    }),
  });
  const mine = await create(first, await openRun(first));
  held = true;
  await untilDone(time, 1_000, () => slow.reached);
  const before = first.sent.length;
  const second = await start("second");
  const theirs = second.gateway.operations.get(mine.id);
  await untilDone(time, 5_000, () => theirs.checks > 0);
  slow.open();
  await time.advance(1_000);
  assert.equal(first.sent.length, before, "its intent was refused by the store");
  assert.equal(first.gateway.ledger.stopped, false, "and that is no broken disk");
  assert.equal(mine.lease?.owner, "second");
});

test("whoever does not hold the lease cannot cancel or settle, and what it knows stays as it is", async () => {
  const first = await start("first");
  const mine = await create(first, await openRun(first));
  await untilDone(time, 1_000, () => mine.checks > 0);
  const slow = gate();
  const second = await start("second", stalledReads(slow));
  // The first one is not heard of for longer than its lease.
  learn(mine, { kind: "look_again", at: null });
  await untilDone(time, 5_000, () => slow.reached);
  const refused = first.gateway.startErrand(caller, mine.id, "cancel", "not needed").done;
  await assert.rejects(refused, denies("operation_taken_over"));
  await assert.rejects(first.gateway.operations.cancel(mine.id, "ada", "not needed"), denies("operation_taken_over"));
  const before = mine.state;
  const said = first.settlement(mine.id, true, { although: "seen on its page" });
  await assert.rejects(first.gateway.settle(said), denies("operation_taken_over"));
  assert.deepEqual([mine.state, mine.cancel], [before, null]);
  assert.equal(first.sent.filter((line) => line.startsWith("DELETE")).length, 0);
  slow.open();
  await time.advance(100);
  assert.equal(stored(second, "observing"), 1);
});

test("work that failed is resumed by whoever has its lease, and not by who slept while another resumed it", async () => {
  const first = await start("first");
  const mine = await create(first, await openRun(first));
  jobs.set("job-1", "failed");
  await untilDone(time, 1_000, () => stored(first, "failed") === 1);
  jobs.set("job-1", "running");
  const second = await start("second");
  const resumeIn = ({ gateway }: Bench) => gateway.operations.resume(mine.id, "ada", "space was made");
  const passLease = () => {
    const { lease } = second.gateway.operations.get(mine.id);
    return time.advance((lease?.expires_boot_ms ?? 0) - time.clock.bootMs() + 1);
  };
  await assert.rejects(resumeIn(second), denies("operation_taken_over"));
  await passLease();
  assert.equal((await resumeIn(second)).state, "observing");
  await kill(second);
  await passLease();
  assert.equal(mine.state, "failed", "as far as it knows");
  await assert.rejects(resumeIn(first), denies("operation_not_resumable"));
  const resumes = [...first.sent, ...second.sent].filter((line) => line.endsWith("/resume"));
  assert.equal(resumes.length, 1);
});

test("a gateway that starts beside another ends nothing of the other's", async () => {
  const slow = gate();
  const first = await start("first", stalledReads(slow));
  const run = await openRun(first);
  const asked = first.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id: "7" } });
  await untilDone(time, 1, () => slow.reached);
  const second = await start("second");
  assert.deepEqual(
    second.events().filter(({ event_type }) => event_type === "run_ended" || event_type === "outcome_unobserved"),
    [],
  );
  slow.open();
  assert.equal((await asked.done).outcome, "success");
  assert.equal(first.rows("runs", "open").length, 1);
});

test("an effect that another gateway has on its way stays the other's, and is not sent here", async () => {
  const slow = gate();
  const wrapHttp = (http: HttpTransport): HttpTransport => ({
    async send(receipt, request, credential, limits) {
      slow.reached = true;
      await slow.passed;
      return http.send(receipt, request, credential, limits);
    },
  });
  const asked = { action: "acme.thing.post", input: { name: "x" } };
  const first = await start("first", { wrapHttp });
  const mine = await first.openApproved(caller, [asked.action]);
  const { done } = first.gateway.startCall(caller, mine.id, asked);
  await untilDone(time, 0, () => slow.reached);
  const second = await start("second");
  assert.deepEqual(second.gateway.operations.list(), []);
  const theirs = await second.openApproved(caller, [asked.action]);
  await assert.rejects(second.gateway.startCall(caller, theirs.id, asked).done, denies("outcome_unsettled"));
  slow.open();
  await done;
  assert.equal(first.sent.length + second.sent.length, 1);
});

test("a creation on its way is nobody else's until its lease runs out, and is then asked about and not repeated", async () => {
  const slow = gate();
  const first = await start("first", {
    wrapHttp: (http): HttpTransport => ({
      async send(receipt, request, credential, limits) {
        const seen = await http.send(receipt, request, credential, limits);
        if (request.method !== "POST") return seen;
        slow.reached = true;
        await slow.passed;
        return seen;
      },
    }),
  });
  const run = await openRun(first);
  const asked = first.gateway.startCall(caller, run.id, {
    action: "acme.report.create",
    input: { account: nextAccount() },
  });
  await untilDone(time, 1, () => slow.reached);
  const second = await start("second");
  const [theirs] = second.gateway.operations.list();
  assert.equal(theirs?.state, "create_pending");
  await time.advance(30_000);
  assert.equal(theirs?.state, "create_pending");
  await untilDone(time, 5_000, () => theirs?.state !== "create_pending");
  const steps = () => second.eventsOf("operation_transition").map(({ from, to }) => `${from} ${to}`);
  await untilDone(time, 0, () => steps().length > 0);
  assert.equal(steps()[0], "create_pending create_unknown", "what nobody saw the end of is in the log");
  slow.open();
  await asked.done.catch(() => undefined);
  await time.advance(1_000);
  assert.equal(jobs.size, 1, "one job");
  assert.equal(stored(second, "accepted") + stored(second, "observing") <= 1, true);
});

test("a creation that another gateway left is asked about with a card where its credential asks on every use", async () => {
  const first = await start("first", {
    wrapHttp: (http) => ({
      send: (receipt, request, credential, limits) =>
        request.method === "POST" ? new Promise(() => undefined) : http.send(receipt, request, credential, limits),
    }),
  });
  const run = await openRun(first);
  const input = { account: nextAccount() };
  void first.gateway.startCall(caller, run.id, { action: "acme.report.create", input });
  await untilDone(time, 0, () => stored(first, "create_pending") === 1);
  await kill(first);
  const credentials = [["acme-token", { eachUse: true, disabled: false, origin: provider.origin }]] as const;
  const second = await start("second", { credentials });
  const [operation = assert.fail()] = second.gateway.operations.list();
  await untilDone(time, 5_000, () => operation.asking !== null || operation.problem !== null);
  assert.deepEqual([operation.state, operation.problem], ["create_unknown", null]);
  const { card } = await second.waiting();
  assert.match(JSON.stringify(card?.call), /acme\.report\.by_reference/);
});

test("the run of another gateway is not written over by who finds out what became of its call", async () => {
  const slow = gate();
  const lost = { kind: "silent", reason: "timeout", detail: "no answer", elapsedMs: 1 } as const;
  const wrapHttp = (http: HttpTransport): HttpTransport => ({
    async send(receipt, request, credential, limits) {
      const seen = await http.send(receipt, request, credential, limits);
      if (request.method === "POST") return lost;
      slow.reached = true;
      await slow.passed;
      return seen;
    },
  });
  const first = await start("first", { wrapHttp }, 30);
  const mine = await create(first, await openRun(first, 100));
  assert.equal(mine.held, 30);
  await untilDone(time, 1_000, () => slow.reached);
  const before = first.rows("runs", "open");
  const second = await start("second", {}, 30);
  const theirs = second.gateway.operations.get(mine.id);
  await untilDone(time, 5_000, () => theirs.remoteJobId !== null);
  assert.equal(theirs.held, 0, "what it may have cost is settled");
  assert.deepEqual(first.rows("runs", "open"), before);
  slow.open();
});

test("what another gateway says it had under way moves nothing of this host's own, and sends nothing again in its name", async () => {
  const bench = await start("first", {}, 30, "token_retry");
  const run = await openRun(bench, 100);
  const mine = await create(bench, run);
  await untilDone(time, 1_000, () => mine.checks > 0);
  // Signed by its gateway, and all invented: an operation of ours, and another one in the name of our session and run.
  const body = JSON.parse(
    JSON.stringify(operationRow({ ports: { clock: time.clock } } as never, mine).body),
  ) as JsonObject;
  const state = "create_unknown";
  const forged = { ...body, lease: null, remoteJobId: null, held: 60, repeats: 0, token: "theirs" };
  const row = (id: string) => ({ table: "operations" as const, id, runId: run.id, state, body: forged });
  const before = { sent: bench.sent.filter((line) => line.startsWith("POST")).length, budget: run.budget };
  // A note of this host under the name of a secret, and a deployment that it could not have made.
  const note = { table: "notes" as const, id: "adopted web8 1", runId: "", state: "minted", body: { secret: "x" } };
  const deployment = {
    ...{ table: "deployments" as const, id: "acme/dep-1", runId: run.id, state: "current" },
    body: {
      ...{ pack: "acme", action: "acme.deployment.promote", party: "somebody", capability: null, credential: null },
      provenance: { deployment_id: "dep-1", environment: "production", created_target_generation: 99 },
    },
  };
  const rows = [row(mine.id), row("op_invented"), note, deployment];
  const left = { gateway: "web9", term: 1, aheadMs: 0, rows, mayLend: () => false };
  assert.deepEqual(await bench.gateway.fleet.adopt(left, "ada"), { operations: 1, deployments: 0, minted: 0 });
  assert.equal(bench.gateway.fleet.hasAdopted("web8", 1), false);
  assert.equal(bench.gateway.operations.get(mine.id), mine);
  assert.equal(mine.state, "observing");
  const theirs = bench.gateway.operations.get("op_invented" as OperationId);
  await untilDone(time, 1_000, () => theirs.state !== state || theirs.problem !== null);
  assert.equal(bench.sent.filter((line) => line.startsWith("POST")).length, before.sent);
  assert.deepEqual(run.budget.settledSpendCents, before.budget.settledSpendCents);
});

test("what another gateway took over is ended on this host by a person's word alone, and stays the other's", async () => {
  const bench = await start("first");
  const mine = await create(bench, await openRun(bench));
  await untilDone(time, 1_000, () => mine.checks > 0);
  const { fleet, operations } = bench.gateway;
  await fleet.release("web2", []);
  const { lease, nextPoll, problem } = operations.get(mine.id);
  assert.deepEqual([nextPoll, problem], [null, null], "nothing is looked at here any more");
  const ended = await bench.gateway.settle(bench.settlement(mine.id, true));
  assert.deepEqual([ended.state, ended.lease], ["succeeded", lease]);
});

test("how it ended is believed of whoever has it, and of nobody else", async () => {
  const bench = await start("first");
  const mine = await create(bench, await openRun(bench));
  await untilDone(time, 1_000, () => mine.checks > 0);
  const body = JSON.parse(
    JSON.stringify(operationRow({ ports: { clock: time.clock } } as never, mine).body),
  ) as JsonObject;
  const { fleet, operations } = bench.gateway;
  await fleet.release("web2", []);
  const row = (change: JsonObject) => {
    const said = { ...body, lease: null, ...change };
    return { table: "operations" as const, id: mine.id, runId: "run_x", state: "succeeded", body: said };
  };
  const stateNow = (): string => operations.get(mine.id).state;
  const released = stateNow();
  const left = { gateway: "web9", term: 1, aheadMs: 0, mayLend: () => true };
  await fleet.adopt({ ...left, rows: [row({})] }, "ada");
  await fleet.learnEndings("web9", "web9", [row({})]);
  await fleet.learnEndings("web2", "web2", [row({ fingerprint: "another" })]);
  assert.equal(stateNow(), released);
  const running = { ...row({ fingerprint: "another" }), state: "observing" };
  assert.equal((await fleet.adopt({ ...left, term: 2, rows: [running] }, "ada")).operations, 0);
  await fleet.learnEndings("web2", "web3", [row({})]);
  assert.equal(stateNow(), "succeeded");
});

test("what an operator asks while a read is under way is read after it", async () => {
  const slow = gate();
  const first = await start("first", stalledReads(slow));
  const mine = await create(first, await openRun(first));
  await untilDone(time, 1_000, () => slow.reached);
  const asked = first.gateway.operations.reconcile(mine.id, "ada");
  const reads = (): number => first.sent.filter((line) => line.startsWith("GET")).length;
  assert.equal(reads(), 1);
  slow.open();
  await asked;
  assert.equal(reads(), 2);
});

test("a deadline that passes while another gateway has the lease is looked at once until that runs out", async () => {
  const slow = gate();
  const soon = ["result_deadline_s: 120", "result_deadline_s: 20"] as const;
  const first = await start("first", stalledReads(slow), 0, undefined, soon);
  const mine = await create(first, await openRun(first));
  await untilDone(time, 1_000, () => slow.reached);
  let looks = 0;
  const wrapStore = (store: StateStore): StateStore => ({
    ...store,
    change(...change) {
      looks++;
      return store.change(...change);
    },
  });
  const second = await start("second", { wrapStore }, 0, undefined, soon);
  const theirs = second.gateway.operations.get(mine.id);
  await untilDone(time, 1_000, () => looks > 0);
  assert.ok(time.clock.bootMs() >= mine.resultDeadline.bootMs);
  for (let second = 0; second < 10; second++) await untilDone(time, 1_000, once());
  assert.deepEqual([looks, theirs.state], [1, "observing"]);
  slow.open();
  await untilDone(time, 1_000, () => theirs.state === "result_timed_out");
});

test("of two workers none looks at a job that the other looks at, and each takes over what the other left, to its end", async () => {
  const looking = new Map<string, Set<string>>();
  let most = 0;
  const held = gate();
  /** A worker whose reads last until the test lets them end. */
  const work = (name: string): Promise<Bench> => {
    const own = new Set<string>();
    looking.set(name, own);
    const { passed } = held;
    const wrapHttp = (http: HttpTransport): HttpTransport => ({
      async send(receipt, request, credential, limits) {
        const [, job] = /\/v1\/jobs\/([^/]+)$/.exec(request.url) ?? [];
        if (job === undefined) return http.send(receipt, request, credential, limits);
        own.add(job);
        most = Math.max(most, [...looking.values()].filter((jobsOf) => jobsOf.has(job)).length);
        const seen = await http.send(receipt, request, credential, limits);
        await passed;
        own.delete(job);
        return seen;
      },
    });
    return start(name, { wrapHttp }, 0, undefined, ["result_deadline_s: 120", "result_deadline_s: 3600"]);
  };
  const leaveAt = async (bench: Bench, name: string): Promise<void> => {
    await kill(bench);
    looking.delete(name);
  };
  let [one, other] = ["first", "second"];
  let holder = await work(one);
  const run = await openRun(holder);
  for (let index = 0; index < 4; index++) await create(holder, run);
  /** Whoever looks has its leases for longer than this takes: time goes on, and then all but stands still. */
  const passUntilAll = async (ms: number, name: string): Promise<void> => {
    await time.advance(ms);
    await untilDone(time, 1, () => looking.get(name)?.size === 4);
  };
  await passUntilAll(3_000, one);
  for (let round = 0; round < 4; round++) {
    const heir = await work(other);
    // It knows of the jobs, and it is time to look at them.
    for (let second = 0; second < 10; second++) await untilDone(time, 1_000, once());
    assert.deepEqual([looking.get(other)?.size, most], [0, 1], `${one} looks, and ${other} does not`);
    await leaveAt(holder, one);
    const ends = heir.gateway.operations.list().map(({ lease }) => lease?.expires_boot_ms ?? 0);
    await passUntilAll(Math.max(...ends) - time.clock.bootMs(), other);
    [holder, one, other] = [heir, other, one];
  }
  assert.equal(most, 1);
  for (const id of jobs.keys()) jobs.set(id, "succeeded");
  held.open();
  await untilDone(time, 5_000, () => stored(holder, "succeeded") === 4);
  assert.equal(most, 1);
});

/** False, and then true. */
function once(): () => boolean {
  let asked = 0;
  return () => asked++ > 0;
}

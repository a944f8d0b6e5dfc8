import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import { openStateStore } from "../src/adapters/store/sqlite/state.ts";
import type { AuditEvent, EventOf } from "../src/audit/event.ts";
import { foldActivity } from "../src/audit/journals/activity.ts";
import { foldSessions } from "../src/audit/journals/sessions.ts";
import type { LogItem } from "../src/audit/read/reader.ts";
import { startCharts } from "../src/console/reading/charts.ts";
import { ASKED, errandId } from "../src/gateway/operation/errand.ts";
import type { StateRow } from "../src/gateway/ports.ts";
import type { Step } from "../src/gateway/steps.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Secret } from "../src/kernel/secret.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type ManualTime, manualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack, previewBody } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What a start makes of the state that an earlier life of the gateway left, as that life itself wrote it. */
let provider: TestProvider;
let bench: Bench;
let folder: string;
let time: ManualTime;
/** Every recovery that wrote something. */
let steps: Step[];
let storeFails: boolean;
const stateKey = createSecretKey(randomBytes(32));
const ACTIONS = ["acme.membership.plan", "acme.membership.apply", "acme.thing.post", "acme.deployment.promote"];
const PROMOTED = {
  ...{ deployment_id: "dep-2", environment: "staging", release_id: "r1", prior_release_id: "r0", actor_id: "bot" },
  created_target_generation: 2,
  capability: { capability_id: "cap-2", route: "/v1/rollbacks", expires_at: "2030-01-01T00:00:00Z" },
};
const PLANNED = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-recover-"));
  time = manualTime();
  await startGateway();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(): Promise<void> {
  steps = [];
  storeFails = false;
  bench = await startBench(consequentialPack(provider.origin), {
    ...{ folder, time, stateKey },
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    steps: { before: (step) => void steps.push(step), after: () => undefined },
    wrapStore: (store) => ({
      ...store,
      commit: (rows, durability) =>
        storeFails ? Promise.reject(new Error("disk I/O error")) : store.commit(rows, durability),
    }),
  });
}

/** Killed as it stands, and started again: what the new life told. */
async function startAgain(between: () => unknown = () => undefined): Promise<readonly AuditEvent[]> {
  const before = bench.events().length;
  await bench.abandon();
  await between();
  await startGateway();
  return bench.events().slice(before);
}

async function openApproved() {
  const caller = scriptedCaller();
  const run = await bench.openApproved(caller, ACTIONS);
  const start = (action: string, input: object): Promise<unknown> => {
    const how = { action, input: input as never };
    const planned = action === "acme.membership.plan";
    const { done } = planned
      ? bench.gateway.startPlan(caller, run.id, how)
      : bench.gateway.startCall(caller, run.id, how);
    done.catch(() => undefined);
    return done;
  };
  return { run, caller, start };
}

function ofType<Type extends AuditEvent["event_type"]>(events: readonly AuditEvent[], type: Type) {
  return events.filter((event): event is EventOf<Type> => event.event_type === type);
}

const silent = (): void => provider.answer(() => undefined);
const asked = (count: number) => untilDone(time, 0, () => provider.received.length === count);

test("a row of an attempt names where it went, and no argument in the address; older rows have the whole of it", async () => {
  const { run, start } = await openApproved();
  silent();
  void start("acme.membership.plan", PLANNED);
  await asked(1);
  const [sent] = bench.rows("attempts", "sent");
  assert.equal(sent?.["target"], provider.origin);
  assert.ok(!JSON.stringify(sent).includes("/v1/projects"));
  const old = { table: "attempts", runId: run.id, state: "sent" } as const;
  const told = await startAgain(() =>
    put(
      { ...old, id: "evt_old1", body: { ...sent, target: `${provider.origin}/v1/projects/p1?key=s` } },
      { ...old, id: "evt_old2", body: { ...sent, target: "ssh://root@[::1]:22/restart" } },
    ),
  );
  assert.deepEqual(
    ofType(told, "preview_finished")
      .map(({ request }) => request?.target_boundary)
      .toSorted(),
    [provider.origin, provider.origin, "root@[::1]:22"],
  );
});

test("what was on its way when the gateway stopped is told as unknown, and what was open is over", async () => {
  const { run, start } = await openApproved();
  const waiting = await bench.openRun(scriptedCaller(), ACTIONS);
  silent();
  void start("acme.thing.post", { name: "x" });
  await asked(1);
  void start("acme.membership.plan", PLANNED);
  await asked(2);
  const [session] = [...run.sessions.values()];
  const told = await startAgain();

  const links = { run_id: run.id, session_id: session?.id };
  const [unobserved, ...others] = ofType(told, "outcome_unobserved");
  assert.equal(others.length, 0);
  assert.deepEqual({ run_id: unobserved?.run_id, session_id: unobserved?.session_id }, links);
  const [finished] = ofType(told, "action_finished");
  assert.deepEqual(
    [finished?.outcome, finished?.request?.target_boundary, finished?.request?.normalized_operation],
    ["unknown", provider.origin, "POST acme.thing.post"],
  );
  const [previewed] = ofType(told, "preview_finished");
  assert.deepEqual({ run_id: previewed?.run_id, session_id: previewed?.session_id }, links);
  assert.deepEqual([previewed?.outcome, previewed?.plan_id], ["unknown", null]);
  assert.equal(previewed?.call_id, previewed?.request?.correlation_id);
  assert.deepEqual(
    ofType(told, "run_ended").map(({ run_id, reason }) => [run_id, reason]),
    [run.id, waiting.id].map((id) => [id, "gateway_restarted"]),
  );
  assert.deepEqual(
    ofType(told, "session_ended").map(({ session_id, end_reason }) => [session_id, end_reason]),
    [[session?.id, "gateway_restarted"]],
  );
  const [counts, ...more] = ofType(told, "recovery_finished");
  assert.equal(more.length, 0);
  assert.deepEqual([counts?.unfinished, counts?.unknown, counts?.resumed], [2, 2, 1]);

  const ended = bench.rows("runs", "ended");
  assert.deepEqual(
    ended.map(({ sessions, end_reason }) => [sessions, end_reason]),
    [run, waiting].map(() => [[], "gateway_restarted"]),
  );
  for (const state of ["sent", "unknown", "tracked"]) assert.deepEqual(bench.rows("attempts", state), [], state);
  assert.equal(bench.gateway.operations.list().length, 1);
  assert.ok(steps.includes("recovery.finished"));
});

test("a start that finds nothing open tells of nothing and writes nothing", async () => {
  const { start } = await openApproved();
  silent();
  void start("acme.membership.plan", PLANNED);
  await asked(1);
  assert.notEqual((await startAgain()).length, 0);
  const told = await startAgain();
  assert.deepEqual(
    told.map(({ event_type }) => event_type),
    [],
  );
  assert.ok(!steps.includes("recovery.finished"));
});

test("a plan that waited is rejected, also after its run, and what it would do is not kept", async () => {
  provider.answer((_request, response) => answerJson(response, 200, previewBody()));
  const { run, caller, start } = await openApproved();
  await start("acme.membership.plan", PLANNED);
  caller.become({ kind: "gone" });
  await untilDone(time, 0, () => run.state === "ended");
  assert.equal(bench.rows("plans", "previewed").length, 1);
  await startAgain();
  assert.equal(bench.rows("plans", "previewed").length, 0);
  const [rejected] = bench.rows("plans", "rejected");
  assert.deepEqual([rejected?.["preview"], rejected?.["input"]], [null, {}]);
});

test("a call of which several tries were left becomes one operation", async () => {
  const { start } = await openApproved();
  silent();
  void start("acme.thing.post", { name: "x" });
  await asked(1);
  const [row] = bench.rows("attempts", "sent");
  assert.ok(row !== undefined);
  const [{ event_id: id, run_id: runId } = { event_id: "", run_id: "" }] = ofType(bench.events(), "intent_accepted");
  const other = { table: "attempts", id: `${id.slice(0, -1)}Z`, runId, state: "unknown", body: row } as const;
  const told = await startAgain(() => put(other));
  assert.equal(bench.gateway.operations.list().length, 1);
  assert.equal(ofType(told, "outcome_unobserved").length, 1, "of the one that nothing was told of yet");
  const [counts] = ofType(told, "recovery_finished");
  assert.deepEqual([counts?.unfinished, counts?.unknown, counts?.resumed], [2, 2, 1]);
});

test("a call that an older version left becomes an operation with what its row has", async () => {
  const { start } = await openApproved();
  silent();
  void start("acme.thing.post", { name: "x" });
  await asked(1);
  const [row] = bench.rows("attempts", "sent");
  assert.ok(row !== undefined);
  const [{ event_id: id, run_id: runId } = { event_id: "", run_id: "" }] = ofType(bench.events(), "intent_accepted");
  const { claim: _claim, token: _token, input: _input, maximum_cents: _most, reserved_on: _day, ...older } = row;
  const { caller: _caller, plan: _plan, ...body } = older;
  await startAgain(() => put({ table: "attempts", id, runId, state: "sent", body }));
  const [operation = assert.fail()] = bench.gateway.operations.list();
  assert.deepEqual([operation.claim, operation.token, operation.input, operation.plan], [null, null, {}, null]);
  assert.deepEqual([operation.held, operation.heldOn, operation.party], [0, "", ""]);
});

test("a row that was edited is told of and never used", async () => {
  const { start } = await openApproved();
  provider.answer((request, response) =>
    answerJson(response, 200, request.url.endsWith("/plan") ? previewBody() : PROMOTED),
  );
  await start("acme.membership.plan", PLANNED);
  await start("acme.deployment.promote", { environment: "staging", release: "r1" });
  assert.equal(bench.rows("deployments", "current").length, 1);
  silent();
  void start("acme.thing.post", { name: "x" });
  await asked(3);
  const edited = ["attempts", "deployments", "plans", "runs"];
  const told = await startAgain(() => edit(edited));
  assert.deepEqual(
    ofType(told, "state_tampered")
      .map(({ table }) => table)
      .sort(),
    edited,
  );
  assert.equal(ofType(told, "run_ended").length, 0);
  assert.equal(bench.rows("runs", "ended").length + bench.rows("plans", "rejected").length, 0);
});

const items = (): readonly LogItem[] =>
  bench.events().map((event, frame) => ({ kind: "record", segment: 1, frame, index: 0, journal: "activity", event }));

/** What whoever reads the log sees of all calls: in Activity, in the one session, and in the charts. */
function seen() {
  const charts = startCharts();
  for (const item of items()) charts.add(item);
  const counts = ({ succeeded, unknown }: Readonly<Record<"succeeded" | "unknown", number>>) => ({
    succeeded,
    unknown,
  });
  return {
    activity: foldActivity(items()).flatMap((entry) => (entry.kind === "call" ? [[entry.outcome, entry.gap]] : [])),
    session: foldSessions(items()).flatMap((entry) => (entry.kind === "session" ? [counts(entry.calls)] : [])),
    charts: charts.tell().slots.map(counts),
  };
}

test("what a start calls unknown, since it goes by the state, stays for whoever reads the log what that knew before", async () => {
  const { start } = await openApproved();
  provider.answer((_request, response) => {
    storeFails = true;
    answerJson(response, 200, {});
  });
  await start("acme.thing.post", { name: "x" });
  assert.equal(bench.gateway.ledger.stopped, true);
  const told = await startAgain();
  assert.deepEqual([ofType(told, "outcome_unobserved").length, bench.gateway.operations.list().length], [1, 1]);
  const once = [{ succeeded: 1, unknown: 0 }];
  assert.deepEqual(seen(), { activity: [["succeeded", false]], session: once, charts: once });
});

test("an effect that is on its way at a lock is kept as it ends, and the next unlock finds nothing open", async () => {
  const { start } = await openApproved();
  const held: ServerResponse[] = [];
  provider.answer((_request, response) => void held.push(response));
  const done = start("acme.thing.post", { name: "x" });
  await asked(1);
  const locked = Promise.withResolvers<void>();
  const locking = bench.gateway.lock("at night", null, locked.resolve);
  await locked.promise;
  assert.equal(bench.gateway.locked, true, "nobody waits for a provider to be locked");
  for (const response of held) answerJson(response, 200, {});
  await Promise.all([done, locking]);
  await bench.unlock();
  assert.deepEqual([bench.gateway.operations.list(), seen().activity], [[], [["succeeded", false]]]);
  assert.deepEqual(bench.eventsOf("outcome_unobserved"), []);
});

test("an answer that comes after a lock and an unlock, which called its call unknown, is told as what was found out", async () => {
  const { start } = await openApproved();
  const held: ServerResponse[] = [];
  provider.answer((_request, response) => void held.push(response));
  const done = start("acme.thing.post", { name: "x" });
  await asked(1);
  let locked = false;
  void bench.gateway.lock("at night", null).then(() => (locked = true));
  await untilDone(time, defaults.lockWaitMs, () => locked);
  await bench.unlock();
  for (const response of held) answerJson(response, 200, {});
  await done;
  const [found, ...others] = foldActivity(items()).filter(({ kind }) => kind === "reconciliation");
  assert.ok(found?.kind === "reconciliation" && others.length === 0);
  assert.deepEqual([found.action, found.outcome], ["acme.thing.post", "succeeded"]);
  assert.deepEqual(seen().activity, [["unknown", false]]);
});

test("a call whose answer was lost is one that is unknown, for whoever reads the log", async () => {
  const { start } = await openApproved();
  provider.answer((_request, response) => response.destroy());
  await start("acme.thing.post", { name: "x" });
  await startAgain();
  const once = [{ succeeded: 0, unknown: 1 }];
  assert.deepEqual(seen(), { activity: [["unknown", false]], session: once, charts: once });
});

/** A probe of one read, which leaves what it used of its budget. */
async function probeOnce(): Promise<void> {
  const { probes } = bench.gateway;
  const token = Secret.fromText("probe-t0ken");
  const id = await probes.open({
    ...{ api: "Acme", versions: [{ base: provider.origin, header: null }], requests: 1, sideEffects: 0 },
    credentials: [{ label: "main", present: "bearer", name: null, token }],
    ...{ operator: "ada", operatorKeyId: "k1" },
  });
  const request = { caseId: "a.case", method: "GET", url: `${provider.origin}/things`, headers: {}, body: undefined };
  await probes.send(id, "k1", { ...request, credential: "main", sideEffect: false });
  await probes.close(id, "k1", null);
}

test("what ended long ago is forgotten, and nothing before its time", async () => {
  const { run } = await openApproved();
  await probeOnce();
  const taken = (atMs: number): StateRow => ({
    ...{ table: "notes", id: errandId(atMs, "x"), runId: run.id, state: ASKED, body: { atMs } },
  });
  const nowMs = time.clock.wallMs();
  await startAgain(() => put(taken(nowMs - 2 * defaults.errandMs + 60_000), taken(nowMs - 2 * defaults.errandMs - 1)));
  assert.equal(bench.rows("notes", ASKED).length, 1);
  const kept = () => ["ended", "probe"].map((state) => bench.rows("runs", state).length);
  assert.deepEqual(kept(), [1, 1]);
  await time.advance(defaults.endedStateKeptMs - 60_000);
  await startAgain();
  assert.deepEqual(kept(), [1, 1]);
  await time.advance(120_000);
  await startAgain();
  assert.deepEqual(kept(), [0, 0]);
});

test("one edited row alone is told of as well", async () => {
  await openApproved();
  const told = await startAgain(() => edit(["runs"]));
  assert.deepEqual(
    told.map(({ event_type }) => event_type),
    ["state_tampered", "recovery_finished"],
  );
});

function edit(tables: readonly string[]): void {
  const database = new DatabaseSync(join(folder, "state.db"));
  for (const table of tables) database.exec(`update ${table} set sealed = zeroblob(64)`);
  database.close();
}

/** As another life would have written them. */
async function put(...rows: readonly StateRow[]): Promise<void> {
  const store = await openStateStore(join(folder, "state.db"), stateKey, { bytes: randomBytes });
  await store.commit(rows, "process");
  await store.close();
}

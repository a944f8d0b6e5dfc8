import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { NewEvent } from "../src/audit/event.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

type EventType = NewEvent["event_type"];

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
/** Events that the log has no room for. */
let full: ReadonlySet<EventType>;
/** What the disk takes its time with, until it is let go. */
let slow: { readonly of: ReadonlySet<EventType>; readonly until: Promise<void> };
let slowStore: Promise<void>;
/** The disk under the log takes nothing any more. */
let broken: boolean;
/** So much waits for the disk that the log takes nothing. */
let crowded: boolean;
/** The disk under the state takes nothing any more. */
let brokenStore: boolean;

beforeEach(async () => {
  provider = await startProvider();
  caller = scriptedCaller();
  full = new Set();
  slow = { of: new Set(), until: Promise.resolve() };
  slowStore = Promise.resolve();
  broken = false;
  crowded = false;
  brokenStore = false;
  bench = await startBench(
    `
format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", credential: acme-token, auth: { scheme: bearer }, network: private }
actions:
  thing.list: { effect: read, request: { method: GET, path: /v1/things } }
  thing.price: { effect: read, max_cost_cents: 1, request: { method: GET, path: /v1/prices } }
`,
    {
      credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
      wrapAudit: (sink) => ({
        head: () => sink.head(),
        hasRoom: () => !crowded && sink.hasRoom(),
        async append(events) {
          if (crowded) throw new Denied("log_backlogged", "full");
          if (broken) throw new Error("the disk is gone");
          if (events.some(({ event_type }) => full.has(event_type))) throw new Denied("log_backlogged", "full");
          const { of, until } = slow;
          if (events.some(({ event_type }) => of.has(event_type))) await until;
          return sink.append(events);
        },
      }),
      wrapStore: (store) => ({
        ...store,
        async commit(rows, durability) {
          await slowStore;
          if (brokenStore) throw new Error("the disk of the state is gone");
          return store.commit(rows, durability);
        },
      }),
    },
  );
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(descendants = false): Promise<Run> {
  const limits = { attempts: 40, sideEffects: 5, durationMs: 60_000, spendCents: 10 };
  const run = await bench.gateway.openRun(caller, { purpose: "test", actions: ["acme.*"], limits, descendants });
  await bench.approve();
  await run.admission?.session;
  return run;
}

const call = (who: ScriptedCaller, run: Run, action = "acme.thing.list") =>
  bench.gateway.startCall(who, run.id, { action, input: {} }).done;

/** What it comes to, while the clock goes on: whoever waits for room looks again and again. */
async function settled<Value>(work: Promise<Value>): Promise<Value> {
  let done = false;
  const note = () => {
    done = true;
  };
  work.then(note, note);
  await untilDone(bench.time, 50, () => done);
  return work;
}

const sessionOf = (run: Run, who = caller) => run.sessions.get(who.key)?.id ?? assert.fail("it has no session");

/** How the run and its sessions began and ended, as the log has it. */
function story(run: Run): readonly string[] {
  return bench.events().flatMap((event) => {
    if (!("run_id" in event) || event.run_id !== run.id) return [];
    switch (event.event_type) {
      case "session_started":
      case "session_revoked":
        return [event.event_type];
      case "session_ended":
        return [`session_ended ${event.end_reason}`];
      case "run_ended":
        return [`run_ended ${event.reason}`];
      default:
        return [];
    }
  });
}

const REVOKED = [
  "session_started",
  "session_revoked",
  "session_ended operator_revoked",
  "run_ended operator_revoked",
] as const;

test("two revocations at once are one: each end stands once in the log", async () => {
  const run = await openApproved();
  const signed = bench.revocation(sessionOf(run));
  await Promise.all([bench.gateway.revoke(signed), bench.gateway.revoke(signed)]);
  assert.deepEqual(story(run), REVOKED);
});

test("a run whose time is over while its revocation is written was revoked", async () => {
  const run = await openApproved();
  const disk = Promise.withResolvers<void>();
  slow = { of: new Set<EventType>(["session_revoked"]), until: disk.promise };
  const revoked = bench.gateway.revoke(bench.revocation(sessionOf(run)));
  await bench.time.advance(61_000);
  disk.resolve();
  await revoked;
  await run.told;
  assert.deepEqual(story(run), REVOKED);
  assert.equal(run.endReason, "operator_revoked");
});

test("a run ends behind all its sessions, though one of them exits in the moment of its deadline", async () => {
  const run = await openApproved(true);
  const child = scriptedCaller({ parent: caller });
  await call(child, run);
  const disk = Promise.withResolvers<void>();
  slow = { of: new Set<EventType>(["session_ended"]), until: disk.promise };
  await bench.time.advance(61_000);
  slow = { of: new Set(), until: Promise.resolve() };
  child.become({ kind: "gone" });
  await bench.time.advance(0);
  disk.resolve();
  await run.told;
  const over = "session_ended run_over";
  assert.deepEqual(story(run), ["session_started", "session_started", over, over, "run_ended run_deadline_exhausted"]);
});

test("the end of a session stands behind its start, however soon it comes", async () => {
  const run = await bench.openRun(caller, ["acme.*"]);
  const disk = Promise.withResolvers<void>();
  slowStore = disk.promise;
  await bench.approve();
  await untilDone(bench.time, 0, () => run.sessions.size > 0);
  caller.become({ kind: "gone" });
  await bench.time.advance(0);
  disk.resolve();
  await run.told;
  assert.deepEqual(story(run), ["session_started", "session_ended process_exited", "run_ended process_exited"]);
  assert.deepEqual(bench.rows("runs", "open"), []);
});

test("an end that finds the log full holds at once, and is told when there is room", async () => {
  const run = await openApproved();
  full = new Set<EventType>(["session_ended", "approval_withdrawn"]);
  const revoked = bench.gateway.revoke(bench.revocation(sessionOf(run)));
  await assert.rejects(call(caller, run), denies("session_ended"));
  await bench.time.advance(1_000);
  assert.deepEqual(story(run), ["session_started"]);
  full = new Set();
  await settled(revoked);
  assert.deepEqual(story(run), REVOKED);
});

test("a lock waits for ends that the log had no room for, and the next unlock tells none of them again", async () => {
  const run = await openApproved();
  full = new Set<EventType>(["run_ended"]);
  const left = bench.gateway.leaveRun(caller, run.id, "connection_closed");
  const locked = bench.gateway.lock("at night", "ada");
  await bench.time.advance(1_000);
  full = new Set();
  await settled(Promise.all([left, locked]));
  await bench.unlock();
  assert.deepEqual(story(run), ["session_started", "session_ended connection_closed", "run_ended connection_closed"]);
});

test("a session that finds the log full begins once there is room, and nothing is sent under it before", async () => {
  const run = await bench.openRun(caller, ["acme.*"]);
  full = new Set<EventType>(["session_started"]);
  await bench.approve();
  await untilDone(bench.time, 0, () => run.sessions.size > 0);
  const early = call(caller, run);
  await bench.time.advance(1_000);
  assert.deepEqual([provider.received.length, story(run)], [0, []]);
  full = new Set();
  assert.equal((await settled(early)).outcome, "success");
  const types = bench.events().map(({ event_type }) => event_type);
  assert.ok(types.indexOf("session_started") < types.indexOf("intent_accepted"), types.join(" "));
});

test("a session of a run that goes on ends with its row, so that a restart does not end it again", async () => {
  const run = await openApproved(true);
  const child = scriptedCaller({ parent: caller });
  await call(child, run);
  child.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => story(run).includes("session_ended process_exited"));
  await run.told;
  assert.deepEqual(
    bench.rows("runs", "open").map(({ sessions }) => sessions),
    [[sessionOf(run)]],
  );
});

test("everything that a wrapper started ends with it, however much it is", async () => {
  const run = await openApproved(true);
  const children = Array.from({ length: 120 }, () => scriptedCaller({ parent: caller }));
  for (const child of children) await bench.gateway.joinRun(child, run.id);
  await untilDone(bench.time, 0, () => run.sessions.size === 121);
  await bench.gateway.revoke(bench.revocation(sessionOf(run)));
  const told = story(run);
  assert.equal(told.filter((one) => one === "session_ended operator_revoked").length, 121);
  assert.equal(told.at(-1), "run_ended operator_revoked");
});

test("a lock that finds the log full is told when there is room, and leaves nothing open behind it", async () => {
  await openApproved();
  full = new Set<EventType>(["gateway_locked"]);
  const locked = bench.gateway.lock("at night", "ada");
  await bench.time.advance(1_000);
  full = new Set();
  await settled(locked);
  assert.equal(bench.events().at(-1)?.event_type, "gateway_locked");
  assert.deepEqual(bench.gateway.ledger.load("runs", "ended"), [], "the store is closed");
});

test("no session lives through a lock that the log cannot take, though a question waits with it", async () => {
  const run = await openApproved();
  await bench.openRun(scriptedCaller(), ["acme.*"]);
  broken = true;
  await assert.rejects(call(caller, run), denies("gateway_stopped"));
  await assert.rejects(bench.gateway.lock("at night", "ada"), denies("gateway_stopped"));
  assert.deepEqual(bench.gateway.ledger.load("runs", "open"), [], "the store is closed");
  broken = false;
  await bench.gateway.resume("ada");
  await bench.unlock();
  await assert.rejects(call(caller, run), denies("session_ended"));
  assert.equal(run.untold.size, 0, "it is told by now, from its row");
  assert.deepEqual([provider.received.length, bench.gateway.desk.list()], [0, []]);
});

test("a run that a lock overtakes while it is written down ends with it, once", async () => {
  const disk = Promise.withResolvers<void>();
  slow = { of: new Set<EventType>(["run_started"]), until: disk.promise };
  const refused = assert.rejects(bench.openRun(caller, ["acme.*"]), denies("gateway_locked"));
  await bench.time.advance(0);
  const locked = bench.gateway.lock("at night", "ada");
  await bench.time.advance(0);
  disk.resolve();
  await Promise.all([refused, locked]);
  await bench.unlock();
  const ends = bench.events().flatMap((event) => (event.event_type === "run_ended" ? [event.reason] : []));
  assert.deepEqual(ends, ["gateway_locked"]);
  assert.deepEqual(bench.gateway.desk.list(), []);
});

test("a session is open in the state until the log has its end, whoever writes its run's row meanwhile", async () => {
  const run = await openApproved(true);
  const child = scriptedCaller({ parent: caller });
  await call(child, run);
  full = new Set<EventType>(["session_ended"]);
  child.become({ kind: "gone" });
  await bench.time.advance(0);
  // Its row is kept before the log is asked, and the log has no room before what waits there.
  await assert.rejects(call(caller, run, "acme.thing.price"), denies("log_backlogged"));
  const kept = () => bench.rows("runs", "open").map(({ sessions }) => sessions);
  assert.deepEqual(kept(), [[sessionOf(run), sessionOf(run, child)]]);
  full = new Set();
  await settled(run.told);
  assert.deepEqual(kept(), [[sessionOf(run)]]);
});

test("of processes that have gone no more is kept of a run than what it names itself", async () => {
  const run = await openApproved(true);
  for (let round = 0; round < 204; round++) {
    const child = scriptedCaller({ parent: caller });
    await bench.gateway.joinRun(child, run.id);
    await run.kin?.joining.get(child.key);
    child.become({ kind: "gone" });
    await run.told;
  }
  assert.equal(bench.gateway.sessions().length, run.sessions.size);
});

test("what came of a call that was sent while the log had room is written down when it has none, and told as it is", async () => {
  const run = await openApproved();
  const answered = Promise.withResolvers<void>();
  provider.answer((_request, response) => {
    crowded = true;
    answered.resolve();
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  const sent = call(caller, run, "acme.thing.price");
  await answered.promise;
  await assert.rejects(call(caller, run), denies("log_backlogged"));
  crowded = false;
  assert.equal((await settled(sent)).outcome, "success");
  assert.deepEqual(
    bench.eventsOf("action_finished").map((event) => event.outcome),
    ["succeeded"],
  );
  assert.equal(bench.rows("attempts", "sent").length, 0);
  assert.equal(provider.received.length, 1);
});

test("what waits for room is in the log also where the state has failed meanwhile, and nothing new is begun", async () => {
  const run = await openApproved();
  const answered = Promise.withResolvers<void>();
  provider.answer((_request, response) => {
    crowded = true;
    answered.resolve();
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  const sent = call(caller, run, "acme.thing.price");
  await answered.promise;
  const waits = (): boolean => {
    try {
      bench.gateway.ledger.requireRoom();
      return false;
    } catch (error) {
      return denies("log_backlogged")(error);
    }
  };
  await untilDone(bench.time, 0, waits);
  brokenStore = true;
  await assert.rejects(call(caller, run, "acme.thing.price"), denies("gateway_stopped"));
  crowded = false;
  await assert.rejects(settled(sent), denies("gateway_stopped"));
  assert.deepEqual(
    bench.eventsOf("action_finished").map((event) => event.outcome),
    ["succeeded"],
  );
  await assert.rejects(call(caller, run), denies("gateway_stopped"));
  assert.equal(provider.received.length, 1);
});

test("what came of a call is in a log that still works, though the state failed while it was under way", async () => {
  const run = await openApproved();
  const answer = Promise.withResolvers<void>();
  provider.answer(async (_request, response) => {
    await answer.promise;
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  const sent = [call(caller, run, "acme.thing.price"), call(caller, run)];
  await untilDone(bench.time, 0, () => provider.received.length === 2);
  brokenStore = true;
  await assert.rejects(call(caller, run, "acme.thing.price"), denies("gateway_stopped"));
  answer.resolve();
  for (const one of sent) await assert.rejects(one, denies("gateway_stopped"));
  assert.deepEqual(
    bench.eventsOf("action_finished").map((event) => event.outcome),
    ["succeeded", "succeeded"],
  );
  assert.equal(bench.rows("attempts", "sent").length, 1, "a start finds what the store does not know of");
});

test("nobody is asked anew while what has happened waits for room, so that no more waits than was under way", async () => {
  const run = await openApproved();
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  crowded = true;
  const first = bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {} });
  await untilDone(bench.time, 0, () => bench.gateway.desk.list().length === 1);
  const takenBack = bench.gateway.takeBack(caller, first.id);
  await assert.rejects(first.done, denies("call_cancelled"));
  const second = bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {} });
  await untilDone(bench.time, 0, () => second.state === "denied" || bench.gateway.desk.list().length > 0);
  assert.deepEqual(bench.gateway.desk.list(), []);
  await assert.rejects(second.done, denies("log_backlogged"));
  crowded = false;
  await settled(takenBack);
  const cards = bench.events().map(({ event_type }) => event_type);
  assert.deepEqual(cards.filter((type) => type.startsWith("approval_")).slice(-2), [
    "approval_requested",
    "approval_withdrawn",
  ]);
});

test("access that a person gave while the log was full is there once it has room, and not before", async () => {
  const limits = { attempts: 40, sideEffects: 5, durationMs: 60_000, spendCents: 10 };
  const run = await bench.gateway.openRun(caller, { purpose: "test", actions: ["acme.thing.list"], limits });
  await bench.approve();
  await run.admission?.session;
  const scope = () => run.sessions.get(caller.key)?.scope.actions.map(({ action }) => action);
  const asked = { actions: ["acme.thing.price"], credentials: [], reason: "x" };
  const access = await bench.gateway.requestAccess(caller, run.id, asked);
  await bench.time.advance(0);
  full = new Set<EventType>(["session_widened"]);
  await bench.approve();
  await bench.time.advance(1_000);
  assert.deepEqual(scope(), ["acme.thing.list"]);
  full = new Set();
  assert.deepEqual(await settled(access.answer), { granted: ["acme.thing.price"], noted: [] });
  assert.equal((await call(caller, run, "acme.thing.price")).outcome, "success");
  assert.equal(bench.eventsOf("session_widened").length, 1);
});

test("where nothing durable binds a caller its session ends with its connection, and the next one asks anew", async () => {
  const connection = () => scriptedCaller({ binding: "connection" });
  const first = connection();
  const run = await bench.openApproved(first, ["acme.thing.list"]);
  const list = (mine: ScriptedCaller) =>
    bench.gateway.startCall(mine, run.id, { action: "acme.thing.list", input: {} });
  assert.equal((await list(first).done).outcome, "success");
  first.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => story(run).length === 3);
  assert.deepEqual(story(run), ["session_started", "session_ended connection_closed", "run_ended connection_closed"]);
  const next = connection();
  assert.throws(() => list(next), denies("not_found"));
  await bench.openRun(next, ["acme.thing.list"]);
  assert.equal((await bench.waiting()).mode, "session");
  assert.equal(provider.received.length, 1);
});

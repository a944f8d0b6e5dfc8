import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { RunRequest } from "../src/gateway/run/open.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { RunId } from "../src/kernel/ids.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Who opens a run, joins it and asks for more; what its cards say; and how it ends, alone and beside others. */
const LIST = "acme.thing.list";
const ASK = "acme.thing.ask";
const LIMITS = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
/** As base64, which is how an agent would send it. */
const LARGE_BYTES = 9_000_000;

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let diskLow: boolean;
/** What the disk under the log takes its time with, and fails at where that is refused. */
let slow: { readonly of: string; readonly until: () => Promise<void> };

beforeEach(async () => {
  provider = await startProvider();
  caller = scriptedCaller();
  diskLow = false;
  slow = { of: "", until: async () => undefined };
  bench = await startBench(
    `
format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", network: private }
actions:
  thing.list: { effect: read, request: { method: GET, path: /v1/things } }
  thing.ask: { effect: read, needs: { approval: each_use }, request: { method: GET, path: /v1/asked } }
  other.large:
    effect: write
    request: { method: PUT, path: /v1/large, body: opaque, media_type: application/octet-stream }
    input: { content: { in: body, type: string, maxLength: ${(LARGE_BYTES / 3) * 4} } }
`,
    {
      space: { low: () => diskLow },
      wrapAudit: (sink) => ({
        head: () => sink.head(),
        hasRoom: () => sink.hasRoom(),
        async append(events) {
          const { of, until } = slow;
          if (events.some(({ event_type }) => event_type === of)) await until();
          return sink.append(events);
        },
      }),
    },
  );
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const open = (request: Partial<RunRequest> = {}, who = caller) =>
  bench.gateway.openRun(who, { purpose: "test", actions: [LIST, ASK], limits: LIMITS, ...request });

const call = (run: Run, action = LIST, who = caller) =>
  bench.gateway.startCall(who, run.id, { action, input: {} }).done;

const access = (run: Run, actions: readonly string[], who = caller, credentials: readonly string[] = []) =>
  bench.gateway.requestAccess(who, run.id, { actions, credentials, reason: "for the report" });

/** One process more in a run, as a person let it in. */
async function joined(run: Run): Promise<ScriptedCaller> {
  const other = scriptedCaller();
  await bench.gateway.joinRun(other, run.id);
  await bench.approve();
  await untilDone(bench.time, 0, () => run.sessions.has(other.key));
  return other;
}

const ended = (run: Run) => untilDone(bench.time, 0, () => run.state === "ended");
const cards = () => bench.gateway.desk.list();
const endsOf = (run: Run) =>
  bench.eventsOf("run_ended").flatMap(({ run_id, reason }) => (run_id === run.id ? [reason] : []));

async function everyWay(run: Run, pending: Run, who: ScriptedCaller, code: Denied["code"]): Promise<void> {
  const before = cards().length;
  await assert.rejects(open({}, who), denies(code));
  await assert.rejects(bench.gateway.joinRun(who, run.id), denies(code));
  await assert.rejects(access(pending, [ASK], who), denies(code));
  assert.equal(cards().length, before);
}

test("a caller that is traced, gone or another program by now opens nothing, joins nothing and asks for nothing", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  for (const [check, code] of [
    [{ kind: "traced", tracer: 7 }, "caller_traced"],
    [{ kind: "gone" }, "caller_gone"],
    [{ kind: "replaced", what: "its image" }, "caller_replaced"],
  ] as const) {
    const other = scriptedCaller();
    const pending = await open({}, other);
    // Nothing has noticed it yet.
    other.check = () => check as never;
    const runs = bench.eventsOf("run_started").length;
    await everyWay(run, pending, other, code);
    assert.equal(bench.eventsOf("run_started").length, runs);
  }
});

test("a gateway that was locked opens nothing, lets nobody join and adds nothing", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  const pending = await open({}, caller);
  await bench.gateway.lock("at night", "ada");
  await everyWay(run, pending, caller, "gateway_locked");
});

test("where the disk is nearly full no run begins and nobody joins one, and what stands goes on once it has room", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  diskLow = true;
  await assert.rejects(open(), denies("disk_low"));
  await assert.rejects(bench.gateway.joinRun(scriptedCaller(), run.id), denies("disk_low"));
  assert.deepEqual([cards(), bench.eventsOf("run_started").length, run.state], [[], 1, "open"]);
  diskLow = false;
  assert.equal((await call(run)).outcome, "success");
});

test("what a wrapper says of itself stands on its card, and what it does not say does not", async () => {
  const shown = async (request: Partial<RunRequest>) => {
    const who = scriptedCaller();
    await open({ ...request, notes: ["by hand"] }, who);
    const { approvalId, card } = await bench.waiting();
    await bench.gateway.desk.withdraw("seen", (one) => one.approvalId === approvalId);
    return card?.notes.map((note) => note.split(/[ ,:(]/, 3).join(" ")) ?? [];
  };
  const said = { contained: "whatever runs in", proxied: "NOT CONTAINED ", own: "by hand" };
  assert.deepEqual(await shown({}), [said.own]);
  assert.deepEqual(await shown({ contained: true }), [said.contained, said.own]);
  const tiers = await shown({ contained: true, boxTier: "bubblewrap" });
  assert.deepEqual([tiers.length, tiers[0], tiers[2]], [3, said.contained, said.own]);
  assert.deepEqual(await shown({ boxTier: "transparent" }), [said.own], "of no box that it has");
  assert.deepEqual(await shown({ proxied: true }), [said.proxied, said.own]);
  assert.deepEqual(await shown({ contained: false, proxied: false, descendants: false }), [said.own]);
});

test("a request of a wrapped tool may be as large as the largest body that its actions let through", async () => {
  const wrapping = (request: Partial<RunRequest>) => open({ opensWithCall: true, ...request }, scriptedCaller());
  const { runRequestBytes, containedBodyBytes, agentHeaderBytes } = defaults;
  const large = { actions: ["acme.*"] };
  assert.equal((await wrapping(large)).asked.requestBytes, runRequestBytes);
  for (const wrapper of [
    { contained: true, proxied: false },
    { contained: false, proxied: true },
  ]) {
    const { asked, contained, proxied } = await wrapping(wrapper);
    assert.deepEqual({ contained, proxied }, wrapper);
    assert.equal(asked.requestBytes, containedBodyBytes);
    assert.equal((await wrapping({ ...large, ...wrapper })).asked.requestBytes, LARGE_BYTES + agentHeaderBytes);
  }
});

test("what opening a run costs grows with what it names, and a user who used that up opens none until later", async () => {
  const spent = async (uid: number, lessBytes: number) => {
    const others = "a word".length * 3 + LIST.length;
    const bytes = (defaults.runsBurstPerUid - 1) * defaults.runCostBytes - lessBytes;
    const who = scriptedCaller({ uid });
    const command = ["x".repeat(bytes - others)];
    await open({ purpose: "a word", actions: [LIST], command, opensWithCall: true }, who);
    return who;
  };
  const all = await spent(2001, 0);
  await assert.rejects(open({ opensWithCall: true }, all), denies("too_many_requests"));
  await bench.time.advance(1_000 / defaults.runsPerSecondPerUid);
  await open({ opensWithCall: true }, all);
  const most = await spent(2002, 1);
  await open({ opensWithCall: true }, most);
  await assert.rejects(open({ opensWithCall: true }, most), denies("too_many_requests"));
});

test("a caller has so many open runs and no more, and another has its own", async () => {
  const runs: Run[] = [];
  for (let count = 0; count < defaults.runsPerCaller; count++) runs.push(await open({ opensWithCall: true }));
  await assert.rejects(open({ opensWithCall: true }), denies("too_many_requests"));
  await open({ opensWithCall: true }, scriptedCaller());
  await bench.gateway.leaveRun(caller, runs[0]?.id as RunId, "connection_closed");
  await open({ opensWithCall: true });
});

test("a run that the log has no room for never was, and takes no other's place", async () => {
  slow = { of: "run_started", until: () => Promise.reject(new Denied("log_backlogged", "full")) };
  for (let count = 0; count < defaults.runsPerCaller; count++)
    await assert.rejects(open({ opensWithCall: true }), denies("log_backlogged"));
  slow = { of: "", until: async () => undefined };
  const { id } = await open({ opensWithCall: true });
  await bench.time.advance(defaults.firstCallMs);
  assert.deepEqual(
    [bench.eventsOf("run_started"), bench.eventsOf("run_ended")].map((events) => events.map(({ run_id }) => run_id)),
    [[id], [id]],
  );
});

test("a run whose time is over before it is written down is not asked about", async () => {
  await open({ opensWithCall: true }, scriptedCaller());
  const disk = Promise.withResolvers<void>();
  slow = { of: "run_started", until: () => disk.promise };
  const refused = assert.rejects(open({ limits: { ...LIMITS, durationMs: 500 } }), denies("run_ended"));
  await bench.time.advance(defaults.expiryLookMs);
  disk.resolve();
  await refused;
  assert.deepEqual(cards(), []);
});

test("a run that waits for its first call ends where none comes, and is left alone once one did", async () => {
  const [none, asked] = [await open({ opensWithCall: true }), await open({ opensWithCall: true })];
  const first = call(asked);
  await bench.waiting();
  assert.deepEqual(
    cards().map(({ runId }) => runId),
    [asked.id],
    "nobody is asked about a run before its call",
  );
  await bench.time.advance(defaults.firstCallMs - 1);
  assert.equal(none.state, "pending");
  await bench.time.advance(1);
  await ended(none);
  assert.deepEqual([none.endReason, asked.state], ["no_call_came", "pending"]);
  await bench.approve();
  assert.equal((await first).outcome, "success");
  const early = await bench.openApproved(scriptedCaller(), [LIST]);
  await bench.time.advance(defaults.firstCallMs);
  assert.deepEqual([asked.state, early.state], ["open", "open"]);
});

test("a run names each action once, and none that no trusted pack has", async () => {
  const { asked } = await open({ actions: [LIST, "acme.thing.*", "acme.*"], opensWithCall: true });
  const names = asked.actions.map(({ action }) => action);
  assert.deepEqual([...names].sort(), ["acme.other.large", ASK, LIST]);
  for (const actions of [["acme.thing.gone"], [LIST, "acme.gone.*"]])
    await assert.rejects(open({ actions }), denies("action_not_permitted"));
});

test("a run that a person just refused is over as it is opened again, and its refusal names it", async () => {
  await open();
  await bench.deny("not today");
  await assert.rejects(open(), denies("approval_cooling_down"));
  const [started] = bench.eventsOf("run_started").slice(-1);
  const [over] = bench.eventsOf("run_ended").slice(-1);
  const [refused] = bench.eventsOf("call_denied").slice(-1);
  assert.deepEqual([over?.run_id, over?.reason], [started?.run_id, "approval_cooling_down"]);
  assert.deepEqual([refused?.run_id, refused?.code], [started?.run_id, "approval_cooling_down"]);
});

test("only a process of the same user may ask to join, only a run that stands, and one at a time", async () => {
  const pending = await open();
  await assert.rejects(bench.gateway.joinRun(scriptedCaller(), pending.id), denies("not_found"));
  await bench.approve();
  await pending.admission?.session;
  const foreign = scriptedCaller({ uid: 1001 });
  await assert.rejects(bench.gateway.joinRun(foreign, pending.id), denies("not_found"));
  await assert.rejects(bench.gateway.joinRun(scriptedCaller(), undefined), denies("not_found"));
  assert.equal(await bench.gateway.joinRun(caller, pending.id), pending, "it has joined already");
  assert.deepEqual(cards(), []);
  const other = scriptedCaller();
  await bench.gateway.joinRun(other, pending.id);
  await assert.rejects(bench.gateway.joinRun(scriptedCaller(), pending.id), denies("approvals_full"));
  await bench.approve();
  await untilDone(bench.time, 0, () => pending.sessions.has(other.key));
  other.become({ kind: "gone" });
  await pending.told;
  const back: ScriptedCaller = { ...other, check: () => ({ kind: "same" }) };
  await assert.rejects(bench.gateway.joinRun(back, pending.id), denies("session_ended"));
  await bench.gateway.leaveRun(caller, pending.id, "connection_closed");
  await assert.rejects(bench.gateway.joinRun(scriptedCaller(), pending.id), denies("not_found"));
  assert.deepEqual(cards(), []);
});

test("a session takes its own cards with it, and neither those of others in its run nor of other runs", async () => {
  const run = await bench.openApproved(caller, [LIST, ASK]);
  const second = await joined(run);
  const third = await joined(run);
  const other = scriptedCaller({ uid: 1001 });
  await open({}, other);
  const calls = [caller, second, third].map((who) => call(run, ASK, who));
  for (const one of calls) one.catch(() => undefined);
  await untilDone(bench.time, 0, () => cards().filter(({ card }) => card !== null).length === 4);
  await open({}, second);
  const keys = () => cards().map(({ callerKey }) => callerKey);
  await bench.gateway.revoke(bench.revocation(run.sessions.get(second.key)?.id ?? ""));
  await assert.rejects(calls[1] as Promise<unknown>, denies("approval_withdrawn"));
  assert.deepEqual(keys().sort(), [caller, second, third, other].map(({ key }) => key).sort());
  assert.notEqual(cards().find(({ callerKey }) => callerKey === second.key)?.runId, run.id);
  second.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => cards().length === 3);
  // Whoever opened the run is one of them: nobody started them, and each was asked about.
  caller.become({ kind: "gone" });
  await assert.rejects(calls[0] as Promise<unknown>, denies("approval_withdrawn"));
  assert.equal(run.state, "open");
  await bench.gateway.desk.decide(bench.decision(cards().find(({ callerKey }) => callerKey === third.key) as never));
  assert.equal((await calls[2])?.outcome, "success");
  third.become({ kind: "gone" });
  await ended(run);
  await run.told;
  assert.deepEqual([keys(), endsOf(run)], [[other.key], ["process_exited"]]);
});

test("the question about a process goes with it: before a run began with the run, later by itself", async () => {
  const run = await bench.openApproved(caller, [LIST, ASK]);
  const asking = call(run, ASK);
  asking.catch(() => undefined);
  await bench.waiting();
  const other = scriptedCaller();
  await bench.gateway.joinRun(other, run.id);
  await untilDone(bench.time, 0, () => cards().length === 2);
  other.become({ kind: "gone" });
  await untilDone(bench.time, 0, () => cards().length === 1);
  assert.deepEqual([cards()[0]?.callerKey, run.state], [caller.key, "open"]);
  await untilDone(bench.time, 0, () => run.admission === null);
  await joinedBesides(run);
  const early = scriptedCaller();
  const pending = await open({}, early);
  early.become({ kind: "gone" });
  await ended(pending);
  await pending.told;
  assert.deepEqual([endsOf(pending), pending.sessions.size], [["process_exited"], 0]);
  assert.ok(cards().every(({ runId }) => runId === run.id));
});

/** The next one can be asked about, though the one before never came. */
async function joinedBesides(run: Run): Promise<void> {
  const next = scriptedCaller();
  await bench.gateway.joinRun(next, run.id);
  await untilDone(bench.time, 0, () => cards().some(({ callerKey }) => callerKey === next.key));
}

/** A caller that counts how many hold it beside whoever made it. */
function counting(from: ScriptedCaller) {
  const seen = { holds: 0, caller: from };
  const lend = (): ScriptedCaller => ({
    ...from,
    retain: () => {
      seen.holds++;
      return lend();
    },
    close: () => void seen.holds--,
  });
  seen.caller = lend();
  return seen;
}

test("a process is held while it is asked about and while its session lasts, and let go of when it ends", async () => {
  const seen = counting(caller);
  const run = await open({ actions: [LIST] }, seen.caller);
  assert.equal(seen.holds, 2, "for its next connection, and for the question");
  await bench.approve();
  await run.admission?.session;
  // For its next connection, and for its session.
  await untilDone(bench.time, 0, () => seen.holds === 2);
  await open({ actions: [ASK] }, seen.caller);
  assert.equal(seen.holds, 3);
  await bench.deny("no");
  await untilDone(bench.time, 0, () => seen.holds === 2);
  await assert.rejects(open({ actions: [ASK] }, seen.caller), denies("approval_cooling_down"));
  assert.equal(seen.holds, 2, "nobody is asked");
  const other = counting(scriptedCaller());
  await bench.gateway.joinRun(other.caller, run.id);
  assert.equal(other.holds, 1, "for the question");
  await bench.deny("no");
  await untilDone(bench.time, 0, () => run.admission === null);
  await bench.time.advance(0);
  assert.equal(other.holds, 1, "for its next connection, in which it is told so");
  await bench.gateway.revoke(bench.revocation(run.sessions.get(caller.key)?.id ?? ""));
  assert.equal(seen.holds, 1);
  caller.become({ kind: "gone" });
  assert.equal(seen.holds, 0);
});

test("a connection that nothing durable binds is held by nobody, and not let go of before its session ends", async () => {
  const seen = counting(scriptedCaller({ binding: "connection" }));
  await open({ actions: [ASK] }, seen.caller);
  assert.equal(seen.holds, 0);
  await bench.deny("no");
  const run = await bench.openApproved(seen.caller, [LIST]);
  await bench.time.advance(0);
  assert.equal((await call(run, LIST, seen.caller)).outcome, "success");
  assert.equal(seen.holds, 0);
});

test("nobody joins for a user whose volume is used up, and a question that was begun with the rest of it is asked", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  bench.gateway.volume.charge(`uid ${caller.uid}`, defaults.unapprovedBytesPerDay);
  await assert.rejects(bench.gateway.joinRun(scriptedCaller(), run.id), denies("too_many_requests"));
  assert.deepEqual([cards(), run.admission], [[], null]);
  bench.gateway.volume.charge("uid 1001", defaults.unapprovedBytesPerDay - 1);
  await open({}, scriptedCaller({ uid: 1001 }));
  assert.equal((await bench.waiting()).mode, "session");
  await assert.rejects(open({}, scriptedCaller({ uid: 1001 })), denies("too_many_requests"));
});

test("a call is not put on the card of its session for a user whose volume is used up", async () => {
  const run = await open();
  bench.gateway.volume.charge(`uid ${caller.uid}`, defaults.unapprovedBytesPerDay);
  const late = call(run, ASK);
  await bench.time.advance(0);
  assert.deepEqual([cards().length, cards()[0]?.callId], [1, null]);
  await bench.approve();
  await untilDone(bench.time, 0, () => cards()[0]?.callId !== undefined && cards()[0]?.callId !== null);
  await bench.approve();
  assert.equal((await late).outcome, "success");
});

test("a run that ends while the yes to it is written down does not begin", async () => {
  const run = await open({ limits: { ...LIMITS, durationMs: 10_000 } });
  const waits = run.admission?.session ?? assert.fail("nobody is asked");
  const disk = Promise.withResolvers<void>();
  slow = { of: "approval_approved", until: () => disk.promise };
  const deciding = bench.approve();
  await untilDone(bench.time, 0, () => cards().length === 0);
  await bench.time.advance(10_000);
  disk.resolve();
  await deciding;
  await assert.rejects(waits, denies("run_ended"));
  await run.told;
  assert.deepEqual([run.state, run.sessions.size, endsOf(run)], ["ended", 0, ["run_deadline_exhausted"]]);
  assert.deepEqual(bench.eventsOf("session_started"), []);
});

test("a call that comes while the yes to its session is written down has a card of its own", async () => {
  const run = await open();
  const disk = Promise.withResolvers<void>();
  slow = { of: "approval_approved", until: () => disk.promise };
  const deciding = bench.approve();
  await untilDone(bench.time, 0, () => cards().length === 0);
  const late = call(run, ASK);
  await bench.time.advance(0);
  assert.deepEqual(cards(), []);
  disk.resolve();
  await deciding;
  assert.equal((await bench.waiting()).card?.asks, "call");
  await bench.approve();
  assert.equal((await late).outcome, "success");
});

test("two calls that each need a person have a card of their own, of which one may be that of their session", async () => {
  for (const opensWithCall of [false, true]) {
    const who = scriptedCaller();
    const run = await open({ opensWithCall }, who);
    const begun = bench.gateway.startCall(who, run.id, { action: ASK, input: {} });
    const [first, second] = [begun.done, call(run, ASK, who)];
    await untilDone(bench.time, 0, () => cards()[0]?.card?.asks === "session_and_call");
    await bench.time.advance(0);
    const { approvalId, card } = await bench.waiting();
    assert.deepEqual([cards().length, card?.asks], [1, "session_and_call"]);
    assert.deepEqual([begun.approvalId, card?.call?.call_id], [approvalId, begun.id], "which whoever asks is told");
    await bench.approve();
    assert.equal((await first).outcome, "success");
    assert.equal((await bench.waiting()).card?.asks, "call");
    await bench.approve();
    assert.equal((await second).outcome, "success");
  }
});

test("access adds what a trusted pack defines and the person left, once; the rest is only noted", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  const names = () => run.sessions.get(caller.key)?.scope.actions.map(({ action }) => action);
  const nothing = await access(run, [LIST, LIST]);
  assert.deepEqual([nothing.approvalId, await nothing.answer], [null, { granted: [LIST], noted: [] }]);
  assert.deepEqual(cards(), []);

  const foreign = await access(run, ["zoo.feed", LIST, "zoo.feed"], caller, ["zoo-key"]);
  const alone = await bench.waiting();
  assert.deepEqual([alone.card?.scope, alone.card?.asks, alone.card?.notes.length], [null, "access", 3]);
  await bench.approve();
  assert.deepEqual(await foreign.answer, { granted: [], noted: ["zoo.feed", "zoo-key"] });
  assert.equal(bench.eventsOf("session_widened").length, 0);

  await access(run, ["zoo.feed"]);
  assert.equal((await bench.waiting()).card?.notes.length, 2);
  // Nobody waits for the answer.
  await bench.deny("no");
  await bench.time.advance(0);

  const both = [await access(run, [LIST, ASK, "acme.other.large"]), await access(run, [ASK])];
  await bench.waiting();
  assert.deepEqual([...(cards()[0]?.card?.scope?.actions ?? [])].sort(), ["acme.other.large", ASK]);
  assert.deepEqual([cards()[0]?.card?.notes, cards()[0]?.card?.run.purpose_claimed], [[], "for the report"]);
  const less = { actions: [ASK], request_bytes: null, budget: null };
  await bench.gateway.desk.decide(bench.decision(cards()[0] as never, { narrow: less }));
  assert.deepEqual(await both[0]?.answer, { granted: [ASK], noted: [] });
  await bench.approve();
  assert.deepEqual(await both[1]?.answer, { granted: [ASK], noted: [] });
  assert.deepEqual(names(), [LIST, ASK]);
  assert.deepEqual(
    bench.eventsOf("session_widened").map(({ approval_id, scope, approved_by }) => [approval_id, scope, approved_by]),
    both.map(({ approvalId }) => [approvalId, [ASK], "ada"]),
  );
});

test("access that a person takes wholly away adds nothing, and one whose session ended meanwhile is refused", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  const other = await joined(run);
  await assert.rejects(access(await open(), [ASK]), denies("session_ended"), "which never began");
  await bench.deny("no");
  const taken = await access(run, [ASK]);
  await bench.waiting();
  await bench.approve({ actions: [], request_bytes: null, budget: null });
  assert.deepEqual(await taken.answer, { granted: [], noted: [] });
  assert.equal(bench.eventsOf("session_widened").length, 0);
  const late = await access(run, [ASK], other);
  const { approvalId } = await bench.waiting();
  other.check = () => ({ kind: "traced", tracer: 7 });
  await bench.approve();
  await assert.rejects(late.answer, denies("caller_traced"));
  assert.equal(bench.gateway.desk.find(approvalId)?.state, "approved");
  assert.equal(run.sessions.get(other.key)?.scope.actions.length, 1);
  other.check = () => ({ kind: "same" });
  await bench.gateway.revoke(bench.revocation(run.sessions.get(other.key)?.id ?? ""));
  await assert.rejects(access(run, [ASK], other), denies("session_ended"));
});

test("a call that its session has no action for asks for what it lacks, and a preview for what carries it out too", async () => {
  const asked = () => [...(cards()[0]?.card?.scope?.actions ?? [])].sort();
  const run = await open({ actions: [LIST], asksAsItGoes: true });
  await bench.approve();
  await run.admission?.session;
  const first = call(run, ASK);
  assert.equal((await bench.waiting()).mode, "access");
  assert.deepEqual(asked(), [ASK]);
  await bench.approve();
  assert.equal((await first).outcome, "success");
  assert.equal((await call(run)).outcome, "success");

  await bench.close();
  const [plan, apply] = ["acme.membership.plan", "acme.membership.apply"];
  bench = await startBench(consequentialPack(provider.origin), {
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
  const planned = await open({ actions: ["acme.thing.get"], asksAsItGoes: true });
  await bench.approve();
  await planned.admission?.session;
  const input = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
  const { done } = bench.gateway.startPlan(caller, planned.id, { action: apply, input });
  assert.equal((await bench.waiting()).mode, "access");
  assert.deepEqual(asked(), [apply, plan]);
  await bench.deny("not now");
  await assert.rejects(done, denies("approval_denied"));
});

test("each run ends at its own deadline, in whatever order they were opened", async () => {
  const opened = async (durationMs: number) => {
    const who = scriptedCaller();
    return await open({ limits: { ...LIMITS, durationMs }, opensWithCall: true }, who);
  };
  const state = (...runs: readonly Run[]) => runs.map((one) => one.state).join(" ");
  const [long, soon] = [await opened(20_000), await opened(300)];
  await bench.time.advance(299);
  assert.equal(state(long, soon), "pending pending");
  await bench.time.advance(1);
  assert.equal(state(long, soon), "pending ended");
  const sooner = await opened(100);
  await bench.time.advance(100);
  assert.equal(state(long, sooner), "pending ended");
  await bench.time.advance(19_599);
  assert.equal(state(long), "pending");
  await bench.time.advance(1);
  assert.equal(state(long), "ended");
  // No run stands any more, and nobody looks; the next one is looked at again.
  await bench.time.advance(60_000);
  const last = await opened(500);
  await bench.time.advance(500);
  assert.equal(state(last), "ended");
  await last.told;
  const told = bench.eventsOf("run_ended").map(({ reason, budget_stop_reason }) => [reason, budget_stop_reason]);
  assert.deepEqual(
    told,
    Array.from({ length: 4 }, () => ["run_deadline_exhausted", "run_deadline_exhausted"]),
  );
});

test("a run whose time is over says which ceiling stopped it first", async () => {
  const run = await bench.openApproved(caller, [LIST], { attempts: 1, durationMs: 10_000 });
  await call(run);
  await assert.rejects(call(run), denies("attempts_exhausted"));
  await bench.time.advance(10_000);
  await ended(run);
  await run.told;
  const [over] = bench.eventsOf("run_ended");
  assert.deepEqual([over?.reason, over?.budget_stop_reason], ["run_deadline_exhausted", "attempts_exhausted"]);
});

test("a revocation is told with the operator's reason where they gave one, and of a session that nobody has it is refused", async () => {
  const run = await bench.openApproved(caller, [LIST]);
  const other = await joined(run);
  const ids = [caller, other].map(({ key }) => run.sessions.get(key)?.id ?? "");
  await bench.gateway.revoke(bench.revocation(ids[1] ?? "", null));
  await bench.gateway.revoke(bench.revocation(ids[0] ?? ""));
  const told = bench.eventsOf("session_revoked");
  assert.deepEqual(
    told.map((event) => [event.session_id, event.operator, "reason" in event ? event.reason : "none"]),
    [
      [ids[1], "ada", "none"],
      [ids[0], "ada", "enough"],
    ],
  );
  await assert.rejects(bench.gateway.revoke(bench.revocation("ses_none")), denies("not_found"));
});

test("everything that ends together is in the log and in the state, also where it fills an append exactly", async () => {
  const run = await open({ descendants: true, actions: [LIST] });
  await bench.approve();
  await run.admission?.session;
  const children = Array.from({ length: 98 }, () => scriptedCaller({ parent: caller }));
  for (const child of children) await bench.gateway.joinRun(child, run.id);
  await untilDone(bench.time, 0, () => run.sessions.size === 99);
  caller.become({ kind: "gone" });
  await ended(run);
  await run.told;
  assert.equal(bench.eventsOf("session_ended").length, 99);
  assert.deepEqual(endsOf(run), ["process_exited"]);
  assert.deepEqual([bench.rows("runs", "open"), run.untold.size], [[], 0]);
});

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { Grant } from "../src/conventions/grant/grant.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import { isoTime } from "../src/kernel/clock.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { grantFor } from "./support/grant.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

function packText(origin: string): string {
  return `
format: gw.pack/v1
pack: acme
provider: { origin: ${origin}, credential: acme-token, auth: { scheme: bearer }, network: private }
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{owner}/{id}" }
    input:
      owner: { in: path, type: string, maxLength: 64 }
      id: { in: path, type: string, maxLength: 64 }
  thing.mark:
    effect: write
    retry: non_idempotent_write
    needs: { ticket: true }
    request: { method: POST, path: "/v1/things/{owner}/mark" }
    input:
      owner: { in: path, type: string, maxLength: 64 }
  thing.drop:
    effect: write
    retry: non_idempotent_write
    request: { method: DELETE, path: "/v1/things/{owner}" }
    input:
      owner: { in: path, type: string, maxLength: 64 }
`;
}

const DAY_MS = 86_400_000;
const LIMITS = { attempts: 9, sideEffects: 0, durationMs: 600_000, spendCents: 0 };

function grantOf(change: Partial<Grant> = {}): Grant {
  return grantFor(bench, "acme.thing.*", {
    conditions: [{ kind: "one_of", input: "owner", values: ["acme"] }],
    ...change,
  });
}

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(packText(provider.origin));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const start = (runId: string, input: JsonObject, action = "acme.thing.get") =>
  bench.gateway.startCall(caller, runId as never, { action, input });
const get = (runId: string, owner = "acme"): Promise<CallResult> => start(runId, { owner, id: "1" }).done;

test("a call that a grant covers passes without a card, and every event that it allows names the grant", async () => {
  bench.grants.push(grantOf());
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  assert.equal((await get(run.id)).outcome, "success");
  assert.equal(bench.gateway.desk.list().length, 0);
  const events = bench.events();
  const intent = events.find(({ event_type }) => event_type === "intent_accepted");
  assert.ok(intent?.event_type === "intent_accepted");
  assert.equal(intent.authorization, "grant:nightly");
  const session = events.find(({ event_type }) => event_type === "session_started");
  assert.ok(session?.event_type === "session_started");
  assert.equal(session.approved_by, "grant nightly");
  assert.ok(!events.some(({ event_type }) => event_type === "approval_requested"));
});

test("a call beyond the grant's conditions asks a person, who can still say yes", async () => {
  bench.grants.push(grantOf());
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  await get(run.id);
  const call = start(run.id, { owner: "other", id: "1" });
  const approval = await bench.waiting();
  assert.match(
    approval.card?.call?.because.join() ?? "",
    /the grant nightly does not cover it: it holds only where owner=acme/,
  );
  assert.equal(provider.received.length, 1);
  await bench.approve();
  assert.equal((await call.done).outcome, "success");
});

test("what the grant does not name asks about the session as ever", async () => {
  bench.grants.push(grantOf());
  for (const [actions, who] of [
    [["acme.thing.drop"], caller],
    [["acme.*"], caller],
    [["acme.thing.get"], scriptedCaller({ image: "cd" })],
  ] as const) {
    await bench.openRun(who, actions);
    const approval = await bench.waiting();
    assert.equal(approval.mode, "session");
    await bench.deny("no");
  }
});

test("a run asks for a part of a pack in the words of a grant", async () => {
  bench.grants.push(grantOf({ actions: ["acme.thing.*"], effects: ["read", "write"] }));
  const run = await bench.openRun(caller, ["acme.thing.*"]);
  const named = run.asked.actions.map(({ action }) => action);
  assert.ok(named.length > 1 && named.every((action) => action.startsWith("acme.thing.")));
  await assert.rejects(bench.openRun(caller, ["acme.thin.*"]), denies("action_not_permitted"));
  await assert.rejects(bench.openRun(caller, ["acme.thing.get.*"]), denies("action_not_permitted"));
});

test("the budget of a run is the grant's where that is less", async () => {
  bench.grants.push(grantOf());
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  for (let time = 0; time < 3; time++) await get(run.id);
  await assert.rejects(get(run.id), denies("attempts_exhausted"));
});

test("another process may join a run that a grant let begin, also while that is being written, and a person is asked", async () => {
  bench.grants.push(grantOf());
  const run = await bench.openRun(caller, ["acme.thing.get"], LIMITS);
  const other = scriptedCaller();
  await bench.gateway.joinRun(other, run.id);
  const third = scriptedCaller();
  await assert.rejects(bench.gateway.joinRun(third, run.id), denies("approvals_full"));
  const { card, mode } = await bench.approve();
  assert.deepEqual([mode, card?.run.run_id], ["join", run.id]);
  const input = { owner: "acme", id: "1" };
  const { done } = bench.gateway.startCall(other, run.id, { action: "acme.thing.get", input });
  assert.equal((await done).outcome, "success");
  await bench.gateway.joinRun(third, run.id);
  assert.equal((await bench.waiting()).callerKey, third.key);
});

test("a run whose caller is gone before its grant lets it begin is over", async () => {
  bench.grants.push(grantOf());
  const opening = bench.openRun(caller, ["acme.thing.get"], LIMITS);
  caller.become({ kind: "gone" });
  const run = await opening;
  await run.admission?.session.catch(() => undefined);
  assert.deepEqual([run.state, run.endReason, run.admission], ["ended", "caller_gone", null]);
});

test("a removed or changed grant stops sessions that stand on it at once", async () => {
  for (const next of [[], [grantOf({ callsPerDay: 99 })]]) {
    caller = scriptedCaller();
    bench.grants.splice(0, 9, grantOf());
    const run = await bench.openRun(caller, ["acme.thing.get"]);
    await get(run.id);
    const sent = provider.received.length;
    bench.grants.splice(0, 9, ...next);
    await assert.rejects(get(run.id), denies("grant_ended"));
    assert.equal(provider.received.length, sent);
  }
});

test("a grant that nobody uses ends, and one that is used goes on", async () => {
  bench.grants.push(grantOf({ idleDays: 10, limits: LIMITS }));
  for (const days of [0, 9, 9]) {
    await bench.time.advance(days * DAY_MS);
    caller = scriptedCaller();
    const run = await bench.openRun(caller, ["acme.thing.get"]);
    assert.equal((await get(run.id)).outcome, "success", "no person was asked");
  }
  await bench.time.advance(12 * DAY_MS);
  await bench.openRun(scriptedCaller(), ["acme.thing.get"]);
  assert.equal((await bench.waiting()).mode, "session", "12 days without a use ended it");
});

test("a wrapped command acts by its digest below the wrapper; the wrapper and other programs below it do not", async () => {
  const command = { authority: null, image: null, command: `sha256:${"cd".repeat(32)}`, uid: null };
  bench.grants.push(grantOf({ caller: command, limits: LIMITS }));
  const open = (who: ScriptedCaller) =>
    bench.gateway.openRun(who, {
      ...{ purpose: "nightly", actions: ["acme.thing.get"], limits: LIMITS, descendants: true },
    });
  const run = await open(caller);
  const input = { owner: "acme", id: "1" };
  const call = async (who: ScriptedCaller, { id } = run) =>
    bench.gateway.startCall(who, id, { action: "acme.thing.get", input }).done;
  assert.equal((await call(scriptedCaller({ parent: caller, image: "cd" }))).outcome, "success");
  assert.equal(bench.gateway.desk.list().length, 0);
  await assert.rejects(call(caller), denies("grant_ended"));
  const alike = scriptedCaller({ image: "cd" });
  await assert.rejects(call(alike, await open(alike)), denies("grant_ended"), "nor a wrapper of the same image");
  const other = call(scriptedCaller({ parent: caller, image: "ef" }));
  assert.equal((await bench.waiting()).mode, "join", "a person is asked about another image");
  await bench.deny("no");
  await assert.rejects(other, denies("approval_denied"));
  await assert.rejects(call(scriptedCaller({ image: "cd" })), denies("not_found"), "not below the wrapper");
  await bench.openRun(scriptedCaller({ image: "cd" }), ["acme.thing.get"]);
  assert.equal((await bench.waiting()).mode, "session", "no wrapper opens this run");
  assert.equal(provider.received.length, 1);
});

test("a call that lacks its ticket asks in a granted session, whatever the grant includes", async () => {
  const everything = ["each_use_actions", "plans", "unpreviewed", "purchases", "uncapped_cost"] as const;
  const limits = { attempts: 3, sideEffects: 3, durationMs: 60_000, spendCents: 100 };
  bench.grants.push(grantOf({ effects: ["read", "write"], includes: everything.map((kind) => ({ kind })), limits }));
  const run = await bench.openRun(caller, ["acme.thing.mark"]);
  const call = start(run.id, { owner: "acme" }, "acme.thing.mark");
  const approval = await bench.waiting();
  assert.ok(approval.card?.ticket_needed !== undefined);
  assert.equal(provider.received.length, 0);
  await bench.deny("no ticket");
  await assert.rejects(call.done, denies("approval_denied"));
  assert.equal(provider.received.length, 0);
});

test("a call that another grant covers passes by that one, and asks again once that covers this caller no more", async () => {
  const other = grantOf({ name: "other", conditions: [{ kind: "one_of", input: "owner", values: ["other"] }] });
  bench.grants.push(grantOf(), other);
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  assert.equal((await get(run.id, "other")).outcome, "success");
  const intents = bench.eventsOf("intent_accepted");
  assert.deepEqual(
    intents.map(({ authorization }) => authorization),
    ["grant:other"],
  );
  const neither = start(run.id, { owner: "third", id: "1" });
  await bench.waiting();
  await bench.deny("no");
  await assert.rejects(neither.done, denies("approval_denied"), "one that covers the caller alone is not enough");
  // One that covers the call, and another program.
  const image = `sha256:${"cd".repeat(32)}`;
  bench.grants.splice(1, 1, { ...other, caller: { ...other.caller, image } });
  const call = start(run.id, { owner: "other", id: "1" });
  await bench.waiting();
  await bench.deny("no");
  await assert.rejects(call.done, denies("approval_denied"));
  assert.equal(provider.received.length, 1);
});

test("what another grant covers is held to that one's ceilings of a run too, also where two calls come at once", async () => {
  const limits = { attempts: 9, sideEffects: 9, durationMs: 600_000, spendCents: 0 };
  const effects = ["read", "write"] as const;
  const values = ["one", "two", "three"];
  const conditions = [{ kind: "one_of", input: "owner", values }] as const;
  const other = grantOf({ name: "other", effects, conditions, limits: { ...limits, sideEffects: 1 } });
  bench.grants.push(grantOf({ effects, limits }), other);
  const run = await bench.openRun(caller, ["acme.thing.drop"]);
  const drop = (owner: string) => start(run.id, { owner }, "acme.thing.drop");
  const [one, two] = await Promise.allSettled(["one", "two"].map((owner) => drop(owner).done));
  assert.equal(one?.status, "fulfilled");
  assert.ok(two?.status === "rejected");
  denies("side_effects_exhausted")(two.reason);
  const third = drop("three");
  assert.match((await bench.waiting()).card?.call?.because.join() ?? "", /nightly does not cover it/);
  await bench.deny("no");
  await assert.rejects(third.done, denies("approval_denied"));
  assert.equal(provider.received.length, 1);
  // The run's own ceilings stay.
  assert.equal((await drop("acme").done).outcome, "success");
});

test("a call that another grant covers is not sent again once that one is removed", async () => {
  const other = grantOf({ name: "other", conditions: [{ kind: "one_of", input: "owner", values: ["other"] }] });
  bench.grants.push(grantOf({ limits: LIMITS }), { ...other, limits: LIMITS });
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  provider.answer((_request, response) => {
    bench.grants.splice(1, 1);
    response.writeHead(429, { "retry-after": "5" }).end();
  });
  let over = false;
  const called = get(run.id, "other").finally(() => {
    over = true;
  });
  const refused = assert.rejects(called, denies("grant_ended"));
  await untilDone(bench.time, 1_000, () => over);
  await refused;
  assert.equal(provider.received.length, 1);
});

test("a day's calls are counted over runs and restarts, and one more asks", async () => {
  bench.grants.push(grantOf({ callsPerDay: 2 }));
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  await get(run.id);
  await bench.gateway.lock("restart", "ada");
  await bench.unlock();
  const again = await bench.openRun(caller, ["acme.thing.get"]);
  await get(again.id);
  const third = start(again.id, { owner: "acme", id: "1" });
  const approval = await bench.waiting();
  assert.match(approval.card?.call?.because.join() ?? "", /has covered 2 calls today/);
  await bench.deny("enough");
  await assert.rejects(third.done, denies("approval_denied"));
  assert.deepEqual(
    bench.rows("notes", "day").map(({ used }) => used),
    [2],
  );
});

test("a credential that asks on every use is covered only where the grant names it", async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  bench.grants.push(grantOf());
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const call = start(run.id, { owner: "acme", id: "1" });
  await bench.deny("not without me");
  await assert.rejects(call.done, denies("approval_denied"));
  bench.grants.splice(0, 1, grantOf({ includes: [{ kind: "each_use", credential: "acme-token" }] }));
  caller = scriptedCaller();
  const second = await bench.openRun(caller, ["acme.thing.get"]);
  assert.equal((await get(second.id)).outcome, "success");
});

test("a grant does not reach past its end, into a session that began before it", async () => {
  bench.grants.push(grantOf({ until: isoTime(bench.time.clock.wallMs() + 30_000) }));
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  await get(run.id);
  await bench.time.advance(31_000);
  await assert.rejects(get(run.id), denies("grant_ended"));
});

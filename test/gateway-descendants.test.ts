import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { Run } from "../src/gateway/run/run.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let wrapper: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(`
format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", credential: acme-token, auth: { scheme: bearer }, network: private }
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
  thing.list: { effect: read, request: { method: GET, path: /v1/things } }
`);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  wrapper = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function wrappedRun(descendants = true, actions: readonly string[] = ["acme.*"]): Promise<Run> {
  const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
  const run = await bench.gateway.openRun(wrapper, { purpose: "wrapped", actions, limits, descendants });
  await bench.approve();
  await run.admission?.session;
  return run;
}

const get = { action: "acme.thing.get", input: { id: "1" } };
const call = (caller: ScriptedCaller, run: Run) => bench.gateway.startCall(caller, run.id, get).done;

test("the card of a wrapper says that anything it starts may act, and only that card does", async () => {
  const run = await bench.openRun(scriptedCaller(), ["acme.*"]);
  assert.ok(!(await bench.waiting()).card?.notes.some((note) => note.includes("anything that this program starts")));
  await bench.approve();
  await run.admission?.session;
  const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
  await bench.gateway.openRun(wrapper, { purpose: "w", actions: ["acme.*"], limits, descendants: true });
  assert.ok((await bench.waiting()).card?.notes.some((note) => note.includes("anything that this program starts")));
});

test("a descendant with an image that was shown acts without a card, under the wrapper's approval", async () => {
  const run = await wrappedRun();
  const child = scriptedCaller({ parent: scriptedCaller({ parent: wrapper }) });
  assert.equal((await call(child, run)).outcome, "success");
  assert.equal(bench.gateway.desk.list().length, 0);
  const sessions = bench.eventsOf("session_started");
  assert.equal(sessions.length, 2);
  const [first, second] = sessions as readonly { readonly approval_id?: string; readonly approved_by?: string }[];
  assert.equal(second?.approval_id, first?.approval_id);
  assert.equal(second?.approved_by, "ada");
  assert.deepEqual({ ...run.tally }, { calls: 1, success: 1, error: 0, denied: 0, unknown: 0, unknownCalls: [] });
});

test("two calls at once of one process make one session", async () => {
  const run = await wrappedRun();
  const child = scriptedCaller({ parent: wrapper });
  await Promise.all([call(child, run), call(child, run)]);
  assert.equal(run.sessions.size, 2);
});

test("whoever is not below the wrapper does not learn that the run exists", async () => {
  const run = await wrappedRun();
  const strangers = [
    scriptedCaller(),
    scriptedCaller({ parent: scriptedCaller() }),
    scriptedCaller({ parent: wrapper, uid: 1001 }),
    scriptedCaller({ parent: wrapper, binding: "connection" }),
  ];
  for (const stranger of strangers) {
    assert.throws(() => bench.gateway.startCall(stranger, run.id, get), denies("not_found"));
    assert.throws(() => bench.gateway.run(stranger, run.id), denies("not_found"));
    assert.throws(
      () => bench.gateway.startPlan(stranger, run.id, { action: get.action, input: get.input }),
      denies("not_found"),
    );
  }
  assert.deepEqual(bench.sent, []);
});

test("a run that was not approved for descendants has none", async () => {
  const run = await wrappedRun(false);
  assert.throws(() => bench.gateway.startCall(scriptedCaller({ parent: wrapper }), run.id, get), denies("not_found"));
});

test("a descendant cannot come in before a person approved the wrapper", async () => {
  const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
  const run = await bench.gateway.openRun(wrapper, { purpose: "w", actions: ["acme.*"], limits, descendants: true });
  assert.throws(() => bench.gateway.startCall(scriptedCaller({ parent: wrapper }), run.id, get), denies("not_found"));
});

test("a process that only has the wrapper's pid is not the wrapper", async () => {
  const run = await wrappedRun();
  const child = scriptedCaller({ parent: wrapper });
  const ancestry = [{ pid: wrapper.pid, startTime: "another", path: null }];
  assert.throws(
    () => bench.gateway.startCall({ ...child, ancestry: () => ancestry }, run.id, get),
    denies("not_found"),
  );
});

test("an image that was not shown asks once for its digest, and the card names it", async () => {
  const run = await wrappedRun();
  const first = scriptedCaller({ parent: wrapper, image: "cd" });
  const second = scriptedCaller({ parent: wrapper, image: "cd" });
  const calls = [call(first, run), call(second, run)];
  const { mode, card } = await bench.waiting();
  assert.equal(mode, "join");
  assert.equal(card?.caller["cdhash"], `sha256:${"cd".repeat(32)}`);
  assert.ok(card?.notes.some((note) => note.includes(`sha256:${"cd".repeat(32)}`)));
  assert.equal(bench.gateway.desk.list().length, 1);
  await bench.approve();
  for (const result of await Promise.all(calls)) assert.equal(result.outcome, "success");
  const third = scriptedCaller({ parent: wrapper, image: "cd" });
  assert.equal((await call(third, run)).outcome, "success");
  assert.equal(bench.gateway.desk.list().length, 0);
});

test("a person's no to an image stands for the run, and for that image alone", async () => {
  const run = await wrappedRun();
  const refused = call(scriptedCaller({ parent: wrapper, image: "cd" }), run);
  await bench.deny("not that one");
  await assert.rejects(refused, denies("approval_denied"));
  await assert.rejects(call(scriptedCaller({ parent: wrapper, image: "cd" }), run), denies("approval_denied"));
  assert.equal(bench.gateway.desk.list().length, 0);
  const other = call(scriptedCaller({ parent: wrapper, image: "ef" }), run);
  await bench.approve();
  assert.equal((await other).outcome, "success");
  assert.equal(run.tally.denied, 2);
});

test("an image that is let in with fewer actions has fewer actions", async () => {
  const run = await wrappedRun();
  const refused = call(scriptedCaller({ parent: wrapper, image: "cd" }), run);
  await bench.approve({ actions: ["acme.thing.list"], budget: null, request_bytes: null });
  await assert.rejects(refused, denies("action_not_permitted"));
});

test("a descendant whose parents no longer reach the wrapper when the person answers is refused", async () => {
  const run = await wrappedRun();
  const child = scriptedCaller({ parent: wrapper, image: "cd" });
  let below = true;
  const moved = { ...child, ancestry: () => (below ? child.ancestry() : []) };
  const asked = bench.gateway.startCall(moved, run.id, get).done;
  await bench.waiting();
  below = false;
  await bench.approve();
  await assert.rejects(asked, denies("not_found"));
  assert.deepEqual(bench.sent, []);
});

test("when the wrapper is gone, so are the sessions of what it started", async () => {
  const run = await wrappedRun();
  const child = scriptedCaller({ parent: wrapper });
  await call(child, run);
  wrapper.become({ kind: "gone" });
  await assert.rejects(call(child, run), denies("session_ended"));
  await untilDone(bench.time, 0, () => run.state === "ended");
  assert.equal(run.state, "ended");
  assert.deepEqual(
    [...run.sessions.values()].map(({ endReason }) => endReason),
    ["process_exited", "parent_exited"],
  );
});

test("a wrapper that replaced itself ends the run: what was approved is no longer there", async () => {
  const run = await wrappedRun();
  wrapper.become({ kind: "replaced", what: "exec" });
  assert.throws(() => bench.gateway.startCall(scriptedCaller({ parent: wrapper }), run.id, get), denies("not_found"));
});

test("revoking the wrapper ends all; revoking one descendant ends that one", async () => {
  const run = await wrappedRun();
  const [one, two] = [scriptedCaller({ parent: wrapper }), scriptedCaller({ parent: wrapper })];
  await call(one, run);
  await call(two, run);
  await bench.gateway.revoke(bench.revocation(run.sessions.get(one.key)?.id ?? ""));
  await assert.rejects(call(one, run), denies("session_ended"));
  assert.equal((await call(two, run)).outcome, "success");
  await bench.gateway.revoke(bench.revocation(run.sessions.get(wrapper.key)?.id ?? ""));
  await assert.rejects(call(two, run), denies("session_ended"));
  assert.equal(run.state, "ended");
});

test("joining by ancestry asks nobody; joining without it asks a person", async () => {
  const run = await wrappedRun();
  const child = scriptedCaller({ parent: wrapper });
  await bench.gateway.joinRun(child, run.id);
  assert.equal((await call(child, run)).outcome, "success");
  const stranger = scriptedCaller();
  await bench.gateway.joinRun(stranger, run.id);
  const asked = call(stranger, run);
  await bench.approve();
  assert.equal((await asked).outcome, "success");
});

test("what is left of processes that exited does not grow with the run", async () => {
  const run = await wrappedRun();
  for (let made = 0; made < 220; made++) {
    const child = scriptedCaller({ parent: wrapper });
    await bench.gateway.joinRun(child, run.id);
    await run.kin?.joining.get(child.key);
    child.become({ kind: "gone" });
  }
  assert.ok(run.sessions.size <= 205, String(run.sessions.size));
  assert.equal(run.sessions.get(wrapper.key)?.endReason, null);
});

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { renderCard } from "../src/conventions/approval/render.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import { soon, waiting } from "./mcp-stand.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What the gateway does for a surface that speaks for others: calls taken back, sessions widened and left. */
let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(`
format: gw.pack/v1
pack: acme
provider:
  origin: ${provider.origin}
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: /v1/things }
  thing.burn:
    effect: write
    needs: { approval: each_use }
    request: { method: POST, path: /v1/burnt, body: application/json }
    input: { name: { in: body, type: string } }
`);
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function open(actions: readonly string[], notes: readonly string[] = []): Promise<Run> {
  const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
  const run = await bench.gateway.openRun(caller, { purpose: "test", actions, limits, notes });
  await bench.approve();
  await run.admission?.session;
  return run;
}

const codes = (): readonly string[] =>
  bench.events().flatMap((event) => (event.event_type === "call_denied" ? [event.code] : []));

test("a call that is taken back while its question is open is denied, recorded and never sent", async () => {
  const run = await open(["acme.thing.burn"]);
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.burn", input: { name: "x" } });
  const { approvalId } = await waiting(bench);
  assert.equal(await bench.gateway.takeBack(caller, call.id), true);
  await assert.rejects(call.done, denies("call_cancelled"));
  assert.equal(bench.gateway.desk.find(approvalId)?.state, "withdrawn");
  assert.equal(await bench.gateway.takeBack(caller, call.id), false);
  assert.deepEqual(codes(), ["call_cancelled"]);
  assert.equal(provider.received.length, 0);
  // The session stands, and the same thing can be asked for again at once: nobody denied it.
  const again = bench.gateway.startCall(caller, run.id, { action: "acme.thing.burn", input: { name: "x" } });
  await waiting(bench);
  await bench.approve();
  assert.equal((await again.done).outcome, "success");
});

test("a decision that comes after a call was taken back changes nothing", async () => {
  const run = await open(["acme.thing.burn"]);
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.burn", input: { name: "x" } });
  const signed = bench.decision(await waiting(bench));
  await bench.gateway.takeBack(caller, call.id);
  await assert.rejects(bench.gateway.desk.decide(signed), denies("approval_not_pending"));
  await assert.rejects(call.done, denies("call_cancelled"));
  assert.equal(provider.received.length, 0);
});

test("what has been sent cannot be taken back", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  provider.answer((_request, response) => void held.then(() => response.end("{}")));
  const run = await open(["acme.thing.get"]);
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: {} });
  await soon("the request", () => provider.received.length === 1);
  assert.equal(await bench.gateway.takeBack(caller, call.id), false);
  release();
  assert.equal((await call.done).outcome, "success");
});

test("another caller can neither take back a call nor widen or leave a run", async () => {
  const run = await open(["acme.thing.burn"]);
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.burn", input: { name: "x" } });
  await waiting(bench);
  const stranger = scriptedCaller();
  const request = { actions: ["acme.thing.get"], credentials: [], reason: "mine" };
  await assert.rejects(async () => bench.gateway.takeBack(stranger, call.id), denies("not_found"));
  await assert.rejects(bench.gateway.requestAccess(stranger, run.id, request), denies("not_found"));
  await assert.rejects(bench.gateway.leaveRun(stranger, run.id, "connection_closed"), denies("not_found"));
  assert.equal(run.state, "open");
});

test("the notes of whoever opened the run lead the card, and stand on no card of another caller", async () => {
  const run = await bench.gateway.openRun(caller, {
    purpose: "test",
    actions: ["acme.thing.get"],
    limits: { attempts: 1, sideEffects: 0, durationMs: 60_000, spendCents: 0 },
    notes: ["a bridge \u202e of some kind"],
  });
  const { card } = await waiting(bench);
  assert.equal(card?.notes[0], "a bridge \u202e of some kind");
  assert.ok(card !== null && renderCard(card).some((line) => line.includes("a bridge \\u{202e} of some kind")));
  await bench.approve();
  await run.admission?.session;
  const other = scriptedCaller();
  await bench.gateway.joinRun(other, run.id);
  const joining = await waiting(bench);
  assert.ok(!joining.card?.notes.some((note) => note.includes("a bridge")));
});

test("the card of an access request says what more is asked for, and that the budget stays", async () => {
  const run = await open(["acme.thing.get"]);
  await bench.gateway.requestAccess(caller, run.id, {
    actions: ["acme.thing.burn", "acme.nothing"],
    credentials: ["acme-admin"],
    reason: "to\u0007 finish",
  });
  const { card } = await waiting(bench);
  assert.ok(card !== null);
  const text = renderCard(card).join("\n");
  assert.match(text, /more for a session that stands/);
  assert.match(text, /no trusted pack defines what it calls "acme\.nothing"/);
  assert.match(text, /credential that it calls "acme-admin"/);
  assert.match(text, /to\\u\{7\} finish/);
  assert.match(text, /left: 40 of 40 attempts/);
});

test("a person may grant a part of what was asked, and an access request widens nothing when it is denied or expires", async () => {
  const run = await open(["acme.thing.get"]);
  const request = { actions: ["acme.thing.burn"], credentials: [], reason: "x" };
  const scope = (): readonly string[] => run.sessions.get(caller.key)?.scope.actions.map(({ action }) => action) ?? [];
  const first = await bench.gateway.requestAccess(caller, run.id, request);
  await bench.gateway.desk.decide(
    bench.decision(await waiting(bench), { narrow: { actions: [], request_bytes: null, budget: null } }),
  );
  assert.deepEqual(await first.answer, { granted: [], noted: [] });
  const second = await bench.gateway.requestAccess(caller, run.id, request);
  await waiting(bench);
  await bench.deny("no");
  await assert.rejects(second.answer, denies("approval_denied"));
  await assert.rejects(bench.gateway.requestAccess(caller, run.id, request), denies("approval_cooling_down"));
  const third = await bench.gateway.requestAccess(caller, run.id, { ...request, credentials: ["other"] });
  await bench.time.advance(400_000);
  await assert.rejects(third.answer, denies("approval_expired"));
  assert.deepEqual(scope(), ["acme.thing.get"]);
  assert.ok(!bench.events().some(({ event_type }) => event_type === "session_widened"));
});

test("access that is approved after the session ended gives nothing", async () => {
  const run = await open(["acme.thing.get"]);
  const access = await bench.gateway.requestAccess(caller, run.id, {
    actions: ["acme.thing.burn"],
    credentials: [],
    reason: "x",
  });
  const signed = bench.decision(await waiting(bench));
  await bench.gateway.leaveRun(caller, run.id, "parent_exited");
  await assert.rejects(bench.gateway.desk.decide(signed), denies("approval_not_pending"));
  await assert.rejects(access.answer, denies("approval_withdrawn"));
  assert.equal(run.endReason, "parent_exited");
});

test("a surface's own refusal is recorded like any other, and a flood of them is counted", async () => {
  const refusal = new Denied("action_not_permitted", "no");
  for (let count = 0; count < 200; count++) await bench.gateway.refuse(caller, "acme.nothing", refusal);
  await bench.time.advance(2_000);
  const counted = await soon("the counted event", () =>
    bench.events().find(({ event_type }) => event_type === "denials_counted"),
  );
  assert.ok(counted.event_type === "denials_counted" && counted.count + codes().length === 200);
});

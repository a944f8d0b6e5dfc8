import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { readBody } from "../src/conventions/outcome/result.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { CallId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench, TOKEN } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

function packText(origin: string): string {
  return `
format: gw.pack/v1
pack: acme
provider:
  origin: ${origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
  correlation_header: X-Correlation-ID
  idempotency: { header: Idempotency-Key, window_s: 86400 }
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
  thing.change:
    effect: write
    retry: idempotent_write
    request: { method: POST, path: /v1/things, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 5000 }
  thing.buy:
    effect: purchase
    retry: non_idempotent_write
    max_cost_cents: 30
    request: { method: POST, path: /v1/orders, body: application/json }
    input:
      name: { in: body, type: string }
  other.get:
    effect: read
    request: { method: GET, path: /v1/other }
`;
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

async function openApproved(actions = ["acme.thing.get"], limits = {}): Promise<Awaited<ReturnType<Bench["openRun"]>>> {
  return bench.openApproved(caller, actions, limits);
}

function call(run: { readonly id: never }, action: string, input: JsonObject) {
  return bench.gateway.startCall(caller, run.id, { action, input }).done;
}

/** A result that needs the clock to move on, because a retry waits. */
async function settled<Result>(work: Promise<Result>): Promise<Result> {
  let done = false;
  work.then(
    () => (done = true),
    () => (done = true),
  );
  await untilDone(bench.time, 500, () => done);
  return work;
}

const get = (run: unknown) => call(run as never, "acme.thing.get", { id: "7" });

test("a human approves agent activity before the call is made, and the provider gets the credential", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const pending = get(run);
  const approval = await bench.waiting();
  assert.equal(provider.received.length, 0);
  await bench.gateway.desk.decide(bench.decision(approval));
  const result = await pending;
  assert.equal(result.outcome, "success");
  assert.equal(result.confirmed, false);
  assert.deepEqual(
    provider.received.map(({ url, headers }) => [url, headers.authorization]),
    [["/v1/things/7", `Bearer ${TOKEN}`]],
  );
  assert.ok(!JSON.stringify(result).includes(TOKEN));
});

test("the intent is durable before the call is sent, and a completion follows that references it", async () => {
  const run = await openApproved();
  provider.answer((_request, response) => {
    const written = bench.events().map(({ event_type }) => event_type);
    response.writeHead(200, { "x-seen": "1" });
    response.end(JSON.stringify(written));
  });
  const result = await get(run);
  assert.match(String(result.response?.body), /intent_accepted.*action_started/);
  const events = bench.events();
  const intent = events.find(({ event_type }) => event_type === "intent_accepted");
  const finished = events.find(({ event_type }) => event_type === "action_finished");
  assert.ok(intent?.event_type === "intent_accepted" && finished?.event_type === "action_finished");
  assert.equal(finished.parent_event_id, intent.event_id);
  assert.equal(finished.outcome, "succeeded");
  assert.equal(finished.remote_status, 200);
  assert.equal(intent.request.credential_label, "acme-token");
  assert.equal(finished.request.correlation_id, result.call_id);
  assert.ok(!JSON.stringify(events).includes(TOKEN));
});

test("authorization is evidence of its own: told once a call, durable before the send, however often it is tried", async () => {
  const run = await openApproved();
  let tries = 0;
  provider.answer((_request, response) => void response.writeHead(++tries === 1 ? 503 : 200).end("{}"));
  const result = await settled(get(run));
  assert.equal(result.outcome, "success");
  const types = bench.events().map(({ event_type }) => event_type);
  assert.equal(types.filter((type) => type === "intent_accepted").length, 2);
  assert.ok(types.indexOf("authorization_granted") < types.indexOf("intent_accepted"));
  const [granted, ...more] = bench.eventsOf("authorization_granted");
  assert.deepEqual(more, []);
  const [session] = bench.gateway.sessions();
  const { run: runId, action, target, approval_id, authorized_by } = granted as Record<string, unknown>;
  assert.deepEqual(
    [runId, action, target, approval_id, authorized_by],
    [run.id, "acme.thing.get", `${provider.origin}/v1/things/7`, session?.approvalId, session?.approvedBy],
  );
});

test("when the log cannot be written nothing is sent and the gateway stops", async () => {
  await bench.close();
  let broken = false;
  bench = await startBench(packText(provider.origin), {
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      append: (events) => (broken ? Promise.reject(new Error("ENOSPC")) : sink.append(events)),
    }),
  });
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  const run = await openApproved();
  broken = true;
  await assert.rejects(get(run), denies("gateway_stopped"));
  broken = false;
  await assert.rejects(get(run), denies("gateway_stopped"));
  assert.equal(provider.received.length, 0);
  assert.equal(bench.gateway.ledger.stopped, true);
});

test("a side effect waits for the store too, and a store that fails stops it", async () => {
  await bench.close();
  bench = await startBench(packText(provider.origin), {
    wrapStore: (store) => ({
      ...store,
      commit: (rows, durability) =>
        durability === "power" ? Promise.reject(new Error("disk I/O error")) : store.commit(rows, durability),
    }),
  });
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  const run = await openApproved(["acme.thing.change"]);
  await assert.rejects(call(run as never, "acme.thing.change", { name: "x" }), denies("gateway_stopped"));
  assert.equal(provider.received.length, 0);
});

test("an unknown action and one out of scope get the same denial", async () => {
  const run = await openApproved();
  for (const action of ["acme.nothing", "acme.other.get", "nobody.at.all"]) {
    await assert.rejects(call(run as never, action, {}), (error) => {
      assert.ok(error instanceof Denied);
      assert.deepEqual([error.code, error.message], ["action_not_permitted", "This run may not do that."]);
      return true;
    });
  }
  assert.equal(bench.eventsOf("call_denied").length, 3);
});

test("another caller's run is not found", async () => {
  const run = await openApproved();
  const stranger = scriptedCaller();
  assert.throws(() => bench.gateway.run(stranger, run.id), denies("not_found"));
  assert.throws(
    () => bench.gateway.startCall(stranger, run.id, { action: "acme.thing.get", input: { id: "1" } }),
    denies("not_found"),
  );
  const mine = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id: "1" } });
  await mine.done;
  assert.throws(() => bench.gateway.call(stranger, mine.id), denies("not_found"));
});

test("arguments that do not fit are refused and never asked about", async () => {
  const run = await openApproved();
  await assert.rejects(call(run as never, "acme.thing.get", { id: 7 }), denies("schema_violation"));
  await assert.rejects(call(run as never, "acme.thing.get", { id: "7", extra: 1 }), denies("schema_violation"));
  await assert.rejects(call(run as never, "acme.thing.get", { id: ".." }), (error) => error instanceof Denied);
  assert.equal(provider.received.length, 0);
  assert.equal(bench.gateway.desk.list().length, 0);
});

test("a per-credential mark requires approval on every use, and one card serves both when both apply", async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const first = get(run);
  const merged = await bench.waiting();
  assert.equal(bench.gateway.desk.list().length, 1);
  assert.equal(merged.card?.asks, "session_and_call");
  assert.deepEqual(merged.card?.call?.arguments, { id: "7" });
  await bench.gateway.desk.decide(bench.decision(merged));
  assert.equal((await first).outcome, "success");
  const second = get(run);
  const alone = await bench.waiting();
  assert.equal(alone.card?.asks, "call");
  await bench.gateway.desk.decide(bench.decision(alone));
  assert.equal((await second).outcome, "success");
  assert.equal(provider.received.length, 2);
});

test("a call that was denied is not asked again at once by way of a session that still waits", {
  timeout: 30_000,
}, async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const first = get(await bench.openRun(caller, ["acme.thing.get"]));
  await bench.waiting();
  await bench.deny("no");
  await assert.rejects(first, denies("approval_denied"));
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  await assert.rejects(get(run), denies("approval_cooling_down"));
  const [asked, more] = bench.gateway.desk.list();
  assert.deepEqual([asked?.card?.asks, asked?.card?.call, more], ["session", null, undefined]);
});

test("a call that was denied by itself is not asked again at once by way of another session", {
  timeout: 30_000,
}, async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const first = get(await openApproved());
  await bench.waiting();
  await bench.deny("no");
  await assert.rejects(first, denies("approval_denied"));
  await assert.rejects(get(await bench.openRun(caller, ["acme.thing.get"])), denies("approval_cooling_down"));
  const limits = { attempts: 5, sideEffects: 0, durationMs: 600_000, spendCents: 0 };
  const asked = { purpose: "test", actions: ["acme.thing.get"], limits, opensWithCall: true };
  await assert.rejects(get(await bench.gateway.openRun(caller, asked)), denies("approval_cooling_down"));
  assert.equal(provider.received.length, 0);
});

test("a purchase asks on every call", async () => {
  const run = await openApproved(["acme.thing.buy"], { spendCents: 60 });
  const buy = call(run as never, "acme.thing.buy", { name: "n" });
  const approval = await bench.waiting();
  assert.equal(approval.card?.call?.maximum_cents, 30);
  await bench.gateway.desk.decide(bench.decision(approval));
  assert.equal((await buy).outcome, "success");
});

test("a denial carries the person's reason to the agent, and the same question cools down", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const pending = get(run);
  await bench.deny("not on a Friday");
  await assert.rejects(pending, (error) => {
    assert.ok(error instanceof Denied && error.code === "approval_denied");
    assert.match(error.message, /not on a Friday/);
    return true;
  });
  const again = (limits = {}) => bench.openRun(caller, ["acme.thing.get"], limits);
  await assert.rejects(again(), denies("approval_cooling_down"));
  await assert.rejects(again({ attempts: 41 }), denies("approval_cooling_down"));
  await assert.rejects(again({ attempts: 39 }), denies("approval_cooling_down"));
  await again({ attempts: 20 });
  await bench.deny("still not");
  await assert.rejects(again({ attempts: 20 }), denies("approval_cooling_down"));
  await assert.rejects(again(), denies("approval_cooling_down"));
  await bench.time.advance(60_000);
  await bench.openRun(caller, ["acme.thing.get"]);
  assert.equal(bench.gateway.desk.list().length, 1);
});

test("an approval that nobody answers expires, nothing is sent, and a late decision changes nothing", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const pending = get(run);
  const approval = await bench.waiting();
  await bench.time.advance(300_000);
  await assert.rejects(pending, denies("approval_expired"));
  await assert.rejects(bench.gateway.desk.decide(bench.decision(approval)), denies("approval_not_pending"));
  assert.equal(provider.received.length, 0);
  const types = bench.events().map(({ event_type }) => event_type);
  assert.ok(types.includes("approval_expired") && types.includes("decision_refused"));
});

test("more time makes another card: a decision signed for the old one no longer fits", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const before = await bench.waiting();
  const extended = await bench.gateway.desk.extend(before.approvalId, 120_000);
  assert.equal(extended.expiresBootMs, before.expiresBootMs + 120_000);
  await assert.rejects(bench.gateway.desk.decide(bench.decision(before)), denies("card_mismatch"));
  await bench.time.advance(301_000);
  assert.equal(run.state, "pending");
  await bench.gateway.desk.decide(bench.decision(extended));
  const endless = bench.gateway.desk.extend(before.approvalId, 1_000);
  await assert.rejects(endless, denies("approval_not_pending"));
});

test("a decision without a right signature, or for another card, is refused and recorded", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  const approval = await bench.waiting();
  const stranger = generateKeyPairSync("ed25519").privateKey;
  await assert.rejects(bench.gateway.desk.decide(bench.decision(approval, {}, stranger)), denies("signature_invalid"));
  await assert.rejects(
    bench.gateway.desk.decide(bench.decision(approval, { card_digest: `sha256:${"0".repeat(64)}` })),
    denies("card_mismatch"),
  );
  assert.equal(run.state, "pending");
  const good = bench.decision(approval);
  await bench.gateway.desk.decide(good);
  await assert.rejects(bench.gateway.desk.decide(good), denies("approval_not_pending"));
});

test("the person can narrow scope and budget while approving", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get", "acme.other.get"]);
  await bench.approve({
    actions: ["acme.thing.get"],
    request_bytes: null,
    budget: { attempts: 1, side_effects: 0, duration_seconds: 60, spend_cents: 0 },
  });
  await run.admission?.session;
  await assert.rejects(call(run as never, "acme.other.get", {}), denies("action_not_permitted"));
  assert.equal((await get(run)).outcome, "success");
  await assert.rejects(get(run), denies("attempts_exhausted"));
});

test("what a person says of the arguments holds for the very call that they are asked about", async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const run = await openApproved();
  const where = [{ action: "acme.thing.get", kind: "one_of", input: "id", values: ["8"] }] as const;
  const pending = get(run);
  await bench.approve({ actions: null, request_bytes: null, budget: null, where });
  await assert.rejects(pending, denies("action_not_permitted"));
  assert.equal(provider.received.length, 0);
  const other = call(run as never, "acme.thing.get", { id: "8" });
  await bench.approve({ actions: null, request_bytes: null, budget: null, where });
  assert.equal((await other).outcome, "success");
});

test("approval waits count toward the deadline, and an expired run is never revived", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"], { durationMs: 10_000 });
  await bench.time.advance(9_980);
  await bench.approve();
  await run.admission?.session;
  await assert.rejects(get(run), denies("run_deadline_exhausted"));
  await untilDone(bench.time, 1_000, () => run.state === "ended");
  await assert.rejects(get(run), denies("run_deadline_exhausted"));
});

test("a hundred concurrent calls never take one attempt too many", async () => {
  const run = await openApproved(["acme.thing.get"], { attempts: 17 });
  const results = await Promise.allSettled(Array.from({ length: 100 }, () => get(run)));
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 17);
  assert.equal(provider.received.length, 17);
  const refused = results.filter((result) => result.status === "rejected");
  assert.ok(refused.every((result) => result.reason instanceof Denied && result.reason.code === "attempts_exhausted"));
});

test("a session ends when its process exits, when its image is replaced, and when an operator revokes it", async () => {
  for (const end of ["gone", "replaced", "revoked"] as const) {
    const mine = scriptedCaller();
    const run = await bench.openApproved(mine, ["acme.thing.get"]);
    const session = [...run.sessions.values()][0];
    assert.ok(session !== undefined);
    if (end === "gone") mine.become({ kind: "gone" });
    else if (end === "replaced") mine.become({ kind: "replaced", what: "exe" });
    else await bench.gateway.revoke(bench.revocation(session.id));
    await untilDone(bench.time, 0, () => run.state === "ended");
    assert.notEqual(session.endReason, null, end);
    await assert.rejects(
      bench.gateway.startCall(mine, run.id, { action: "acme.thing.get", input: { id: "1" } }).done,
      (error) => error instanceof Denied,
    );
  }
  assert.equal(provider.received.length, 0);
});

test("nothing of a session leaves that is revoked while the hub is asked, and what was counted before is given back", async () => {
  for (const moment of ["count", "beforeSend"] as const) {
    await bench.close();
    let givenBack = 0;
    const revoke = async (at: typeof moment): Promise<void> => {
      const [session] = bench.gateway.sessions();
      if (at === moment) await bench.gateway.revoke(bench.revocation(session?.id ?? ""));
    };
    const counted = { settle: () => undefined, giveBack: () => void givenBack++ };
    bench = await startBench(packText(provider.origin), {
      hub: {
        admit: () => undefined,
        beforeSend: () => revoke("beforeSend"),
        count: () => revoke("count").then(() => counted),
        holdsAnswers: () => false,
        beforeAnswer: () => Promise.resolve(),
      },
    });
    bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
    caller = scriptedCaller();
    const run = await openApproved(["acme.thing.change"]);
    const told = await call(run as never, "acme.thing.change", { name: "x" }).catch((error: unknown) => error);
    if (moment === "count") assert.ok(denies("session_ended")(told), String(told));
    else assert.match(JSON.stringify(told), /never_sent.*aborted.*session_ended/);
    assert.equal(givenBack, moment === "count" ? 1 : 0, "an attempt that was put on record stays counted");
  }
  assert.equal(provider.received.length, 0);
});

for (const [end, stop] of [
  ["revoked", () => bench.gateway.revoke(bench.revocation(bench.gateway.sessions()[0]?.id ?? ""))],
  ["locked", () => bench.gateway.lock("enough", "ada")],
  [
    "without its credential",
    async () => void bench.credentials.set("acme-token", { eachUse: false, disabled: true, origin: provider.origin }),
  ],
  ["left by its process", async () => caller.become({ kind: "gone" })],
] as const) {
  test(`nothing leaves of a session that ends while its calls wait for a connection (${end})`, async () => {
    const held: (() => void)[] = [];
    provider.answer((_request, response) => void held.push(() => response.writeHead(200).end("{}")));
    const run = await openApproved(["acme.thing.change"], { attempts: 100, sideEffects: 100 });
    const most = defaults.httpConnectionsPerOrigin;
    const calls = Array.from({ length: most + 5 }, (_, index) =>
      call(run as never, "acme.thing.change", { name: `n${index}` }),
    );
    await untilDone(bench.time, 0, () => held.length === most);
    await untilDone(bench.time, 0, () => bench.eventsOf("action_started").length === most + 5);
    const stopped = stop();
    provider.answer((_request, response) => void response.writeHead(200).end("{}"));
    for (const answer of held.splice(0)) answer();
    const told = await Promise.all(calls.map((one) => one.catch((error: unknown) => error)));
    await stopped;
    assert.equal(provider.received.length, most, JSON.stringify(told.at(-1)));
  });
}

test("an ended session is never revived, although its process and its run live on", async () => {
  const run = await openApproved();
  const joined = scriptedCaller();
  await bench.gateway.joinRun(joined, run.id);
  await bench.approve();
  const session = await run.admission?.session;
  assert.ok(session !== undefined);
  const ask = () => bench.gateway.startCall(joined, run.id, { action: "acme.thing.get", input: { id: "1" } }).done;
  assert.equal((await ask()).outcome, "success");
  await bench.gateway.revoke(bench.revocation(session.id));
  for (const _ of [1, 2]) await assert.rejects(ask(), denies("session_ended"));
  await assert.rejects(bench.gateway.joinRun(joined, run.id), denies("session_ended"), "nor is it told that it joined");
  assert.equal(bench.gateway.desk.list().length, 0, "and nobody is asked");
  assert.deepEqual([run.state, session.state, provider.received.length], ["open", "ended", 1]);
});

test("the caller is checked again after the approval wait", async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const run = await openApproved();
  const pending = get(run);
  const approval = await bench.waiting();
  caller.become({ kind: "traced", tracer: 4 });
  await bench.gateway.desk.decide(bench.decision(approval));
  await assert.rejects(pending, denies("caller_traced"));
  assert.equal(provider.received.length, 0);
});

test("a timeout after dispatch of a write is recorded as unknown, its reserve is held and nothing is retried", async () => {
  const run = await openApproved(["acme.thing.change"]);
  provider.answer((_request, response) => response.destroy());
  const result = await call(run as never, "acme.thing.change", { name: "x" });
  assert.equal(result.outcome, "unknown");
  assert.match(result.guidance ?? "", /Do not repeat it/);
  assert.equal(provider.received.length, 1);
  const types = bench.events().map(({ event_type }) => event_type);
  assert.ok(types.includes("outcome_unobserved"));
  const finished = bench.events().findLast(({ event_type }) => event_type === "action_finished");
  assert.ok(finished?.event_type === "action_finished" && finished.outcome === "unknown");
});

test("a read is retried on 503 within its class, each try an attempt of its own", async () => {
  const run = await openApproved();
  provider.answer((_request, response) => response.writeHead(provider.received.length < 3 ? 503 : 200).end());
  assert.equal((await settled(get(run))).outcome, "success");
  assert.equal(provider.received.length, 3);
  assert.equal(run.budget.attemptsUsed, 3);
});

test("a pack that is taken away while a call waits to be sent again sends nothing more", async () => {
  for (const [action, input] of [
    ["acme.thing.get", { id: "1" }],
    ["acme.thing.change", { name: "x" }],
  ] as const) {
    const run = await openApproved([action]);
    const before = provider.received.length;
    provider.answer((_request, response) => response.writeHead(429, { "retry-after": "60" }).end());
    const calling = call(run as never, action, input);
    await untilDone(bench.time, 0, () => bench.eventsOf("action_finished").at(-1)?.run === run.id);
    bench.forget(action);
    await assert.rejects(settled(calling), denies("definition_changed"));
    assert.equal(provider.received.length, before + 1);
  }
});

test("the token of an idempotent write is the same on its retry, and a UUID unless its provider says otherwise", async () => {
  const run = await openApproved(["acme.thing.change"]);
  provider.answer((_request, response) => response.writeHead(provider.received.length < 2 ? 429 : 200).end());
  assert.equal((await settled(call(run as never, "acme.thing.change", { name: "x" }))).outcome, "success");
  const tokens = provider.received.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(tokens.length, 2);
  assert.equal(tokens[0], tokens[1]);
  assert.match(String(tokens[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("a redirect that leaves the approved host set is refused and carries no credential anywhere", async () => {
  const elsewhere = await startProvider();
  const run = await openApproved();
  provider.answer((_request, response) => response.writeHead(307, { location: `${elsewhere.origin}/x` }).end());
  const result = await get(run);
  assert.equal(result.outcome, "error");
  assert.equal(result.transport_observation.reason, "redirect_refused");
  assert.equal(elsewhere.received.length, 0);
  await elsewhere.close();
});

test("a read follows a redirect within its own path template, counts it as an attempt, and goes nowhere else", async () => {
  let astray = false;
  const run = await openApproved();
  provider.answer((request, response) => {
    if (request.url === "/v1/things/7") response.writeHead(302, { location: "/v1/things/8" }).end();
    else if (request.url === "/v1/things/8" && astray) response.writeHead(302, { location: "/v1/admin" }).end();
    else response.writeHead(200).end();
  });
  assert.equal((await get(run)).outcome, "success");
  assert.equal(run.budget.attemptsUsed, 2);
  assert.deepEqual(
    provider.received.map(({ url }) => url),
    ["/v1/things/7", "/v1/things/8"],
  );
  astray = true;
  assert.equal((await get(run)).transport_observation.reason, "redirect_refused");
  assert.ok(provider.received.every(({ url }) => url !== "/v1/admin"));
});

test("the vault itself refuses a credential at an origin it is not bound to", async () => {
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: "https://elsewhere.example" });
  const run = await openApproved();
  const result = await get(run);
  assert.equal(result.outcome, "error");
  assert.equal(result.transport_observation.reason, "credential_refused");
  assert.equal(provider.received.length, 0);
});

test("a locked gateway refuses, records the denial, ends sessions and withdraws cards", async () => {
  const run = await openApproved();
  const other = scriptedCaller();
  await bench.openRun(other, ["acme.thing.get"]);
  await bench.gateway.lock("lunch", "ada");
  assert.equal(bench.gateway.desk.list().length, 0);
  assert.equal(run.state, "ended");
  await assert.rejects(bench.openRun(caller, ["acme.thing.get"]), denies("gateway_locked"));
  const types = bench.events().map(({ event_type }) => event_type);
  for (const type of ["gateway_locked", "session_ended", "approval_withdrawn", "call_denied"])
    assert.ok(types.includes(type as never), type);
});

test("a call that comes just after a person's no hears that no, with its reason", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  await bench.deny("not today");
  await run.admission?.session.catch(() => undefined);
  await assert.rejects(get(run), denies("approval_denied"));
  await assert.rejects(get(run), /not today/);
  assert.equal(provider.received.length, 0);
});

test("one open card per caller, three per user, and a flood of questions is refused", async () => {
  const callers = Array.from({ length: 5 }, () => scriptedCaller());
  for (const each of callers) await bench.openRun(each, ["acme.thing.get"]);
  assert.equal(bench.gateway.desk.list().length, 3);
  const flood = Array.from({ length: 30 }, () => scriptedCaller());
  const results = await Promise.allSettled(flood.map((each) => bench.openRun(each, ["acme.thing.get"])));
  assert.ok(results.some((result) => result.status === "rejected" && result.reason.code === "approvals_full"));
  assert.equal(bench.gateway.desk.list().length, 3);
});

test("a flood of denials becomes one counted event a second", async () => {
  const run = await openApproved();
  await Promise.allSettled(Array.from({ length: 400 }, () => call(run as never, "acme.nothing", {})));
  await bench.time.advance(1_000);
  const events = bench.events();
  assert.ok(events.filter(({ event_type }) => event_type === "call_denied").length <= 60);
  const counted = events.filter((event) => event.event_type === "denials_counted");
  assert.equal(counted.length, 1);
  assert.ok(counted[0]?.event_type === "denials_counted" && counted[0].count >= 340);
});

test("a response that echoes the credential is withheld", async () => {
  const run = await openApproved();
  provider.answer((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ you_sent: request.headers.authorization }));
  });
  const result = await get(run);
  assert.equal(result.response?.body_kind, "withheld");
  assert.ok(!JSON.stringify(result).includes(TOKEN));
});

test("answers of ended calls are held up to a bound of bytes: an old one is gone with a code, and its call is not repeated", async () => {
  const large = "x".repeat(5 * 1_048_576);
  provider.answer((_, response) => response.setHeader("content-type", "application/json").end(JSON.stringify(large)));
  const run = await openApproved(["acme.thing.get"], { attempts: 20 });
  const calls: CallId[] = [];
  for (let turn = 0; turn < 14; turn++) {
    const started = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id: `${turn}` } });
    assert.equal((await started.done).outcome, "success");
    calls.push(started.id);
  }
  await assert.rejects(bench.gateway.call(caller, calls[0]).done, denies("result_gone"));
  const { response } = await bench.gateway.call(caller, calls.at(-1)).done;
  assert.ok(response !== null && readBody(response) === large);
  assert.deepEqual(bench.gateway.answers.status(), { heldBytes: 0, waiting: 0 }, "nobody waits for them");
});

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { Run } from "../src/gateway/run/run.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { describeWait } from "../src/surfaces/plane/describe-wait.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, type BenchOptions, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What a person saw and signed is what is done, whatever comes between the card and the send. */
const GET = "acme.thing.get";
const ASK = "acme.thing.ask";
const WHOLE = { actions: null, request_bytes: null, budget: null } as const;
const LESS = { ...WHOLE, budget: { attempts: 1, side_effects: 0, duration_seconds: 60, spend_cents: 0 } } as const;

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

const read = (name: string, more = ""): string => `
  ${name}:
    effect: read${more}
    request: { method: GET, path: "/v1/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }`;

/** Nothing says how much it may cost. */
const post = (name: string, effect: string): string => `
  ${name}:
    effect: ${effect}
    retry: non_idempotent_write
    request: { method: POST, path: /v1/things, body: application/json }
    input: { name: { in: body, type: string } }`;

beforeEach(async () => {
  provider = await startProvider();
  const pack = `
format: gw.pack/v1
pack: acme
provider:
  origin: ${provider.origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
  redirects: { origins: [], others: ask }
actions:${read("thing.get")}${read("thing.ask", "\n    needs: { approval: each_use }")}${post("thing.make", "create")}${post("thing.tell", "send")}
`;
  const marked = { eachUse: false, disabled: false, origin: provider.origin };
  bench = await startBench(pack, { credentials: [["acme-token", marked]] });
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const start = ({ id }: Run, action: string, who = caller, input: JsonObject = { id: "7" }) =>
  bench.gateway.startCall(who, id, { action, input }).done;

const mark = (eachUse: boolean) =>
  void bench.credentials.set("acme-token", { eachUse, disabled: false, origin: provider.origin });

test("a yes that takes away what its card leaves nothing of to take is refused, and decides nothing", async () => {
  const run = await bench.openApproved(caller, [GET, ASK]);
  const asking = start(run, ASK);
  await assert.rejects(bench.approve(LESS), denies("value_not_allowed"));
  await bench.approve();
  assert.equal((await asking).outcome, "success");

  const other = scriptedCaller();
  await bench.gateway.joinRun(other, run.id);
  assert.equal((await bench.waiting()).mode, "join");
  await assert.rejects(bench.approve(LESS), denies("value_not_allowed"));
  await bench.approve({ ...WHOLE, actions: [GET], request_bytes: 1000 });
  await untilDone(bench.time, 0, () => run.sessions.has(other.key));
  assert.equal(run.budget.limits.attempts, 40);
  await assert.rejects(start(run, ASK, other), denies("action_not_permitted"));

  const narrow = await bench.openApproved(caller, [GET]);
  const access = { actions: [ASK], credentials: [], reason: "more" };
  const { answer } = await bench.gateway.requestAccess(caller, narrow.id, access);
  await assert.rejects(bench.approve({ ...WHOLE, request_bytes: 10 }), denies("value_not_allowed"));
  await assert.rejects(bench.approve(LESS), denies("value_not_allowed"));
  await bench.approve();
  assert.deepEqual((await answer).granted, [ASK]);
  assert.deepEqual(
    bench.eventsOf("decision_refused").map(({ code }) => code),
    Array.from({ length: 4 }, () => "value_not_allowed"),
  );
});

test("what a person puts on the arguments beside the card of a redirect holds for it", async () => {
  provider.answer(({ url }, response) => {
    if (url === "/v1/elsewhere") response.writeHead(200, { "content-type": "application/json" }).end("{}");
    else response.writeHead(302, { location: "/v1/elsewhere" }).end();
  });
  const run = await bench.openApproved(caller, [GET]);
  const one = (id: string) =>
    ({ ...WHOLE, where: [{ action: GET, kind: "one_of", input: "id", values: [id] }] }) as const;
  for (const [id, sends] of [
    ["8", 1],
    ["7", 2],
  ] as const) {
    const before = provider.received.length;
    const getting = start(run, GET);
    assert.equal((await bench.waiting()).mode, "redirect");
    await bench.approve(one(id));
    await getting;
    assert.equal(provider.received.length, before + sends);
  }
});

test("an agent whose call is under way and waits for the card of a redirect is told that a person is asked", async () => {
  const run = await bench.openApproved(caller, [GET]);
  provider.answer((_, response) => response.writeHead(307, { location: "/v1/others/7" }).end());
  const call = bench.gateway.startCall(caller, run.id, { action: GET, input: { id: "7" } });
  const { approvalId, mode } = await bench.waiting();
  assert.equal(mode, "redirect");
  assert.deepEqual(describeWait(call), { approval_id: approvalId, waits_for: "person" });
  await bench.approve();
  // Asked about the next one.
  await untilDone(bench.time, 0, () => provider.received.length === 2 && describeWait(call).waits_for === "person");
  await bench.deny("not there");
  assert.equal((await call.done).outcome, "error");
});

test("a condition on an action that the card does not ask for decides nothing", async () => {
  const run = await bench.openRun(caller, [GET]);
  const getting = start(run, GET);
  const where = [{ action: `${GET}s`, kind: "one_of", input: "id", values: ["8"] }] as const;
  await assert.rejects(bench.approve({ ...WHOLE, where }), denies("value_not_allowed"));
  assert.equal(provider.received.length, 0);
  await bench.approve({ ...WHOLE, where: [{ ...where[0], action: GET }] });
  await assert.rejects(getting, denies("action_not_permitted"));
  assert.equal(provider.received.length, 0);
});

test("a process that asks to join says so on its card, also where its call stands there too", async () => {
  const run = await bench.openApproved(caller, [GET, ASK]);
  const other = scriptedCaller();
  await bench.gateway.joinRun(other, run.id);
  const asking = start(run, ASK, other);
  await untilDone(bench.time, 0, () => bench.gateway.desk.list().at(-1)?.callId !== null);
  const { card, mode } = await bench.waiting();
  assert.deepEqual([mode, card?.asks], ["join", "session_and_call"]);
  assert.ok(card?.notes.includes("this process asks to join a run that another process opened"));
  await assert.rejects(bench.approve(LESS), denies("value_not_allowed"));
  await bench.approve();
  assert.equal((await asking).outcome, "success");
});

test("a pack that is taken away while a person thinks sends nothing", async () => {
  const run = await bench.openApproved(caller, [ASK]);
  const asking = start(run, ASK);
  await bench.waiting();
  bench.forget(ASK);
  await bench.approve();
  await assert.rejects(asking, denies("definition_changed"));
  assert.equal(provider.received.length, 0);
});

test("a credential that is marked or disabled while a person thinks about the session asks, or is not used", async () => {
  const run = await bench.openRun(caller, [GET]);
  const getting = start(run, GET);
  const { approvalId } = await bench.waiting();
  mark(true);
  await bench.approve();
  await untilDone(bench.time, 0, () => bench.gateway.desk.list().length > 0);
  const { card, approvalId: second } = await bench.waiting();
  assert.notEqual(second, approvalId);
  assert.equal(card?.asks, "call");
  assert.equal(provider.received.length, 0);
  await bench.approve();
  assert.equal((await getting).outcome, "success");

  mark(false);
  const next = await bench.openRun(caller, [GET]);
  const refused = start(next, GET);
  await bench.waiting();
  bench.credentials.set("acme-token", { eachUse: false, disabled: true, origin: provider.origin });
  await bench.approve();
  await assert.rejects(refused, denies("credential_disabled"));
});

test("the card of a write covers no other credential that asks on every use", async () => {
  await bench.close();
  const hosts: string[] = [];
  const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxb8Bcx0J54VpGYWQGqluHDJuT0CS5TTjsnIlOAxIRR";
  const pack = `
format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", credential: acme-token, auth: { scheme: bearer }, network: private }
actions:
  thing.set:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: /v1/things, body: application/json }
    input: { name: { in: body, type: string } }
    confirm: thing.show
  thing.show:
    effect: read
    ssh: { host: app-1.acme.example, user: gw, host_key: "${line}", credential: acme-ssh, action: show_thing, recording: off }
    input: { name: { type: string, pattern: "^[a-z]{1,9}$" } }
`;
  const ssh: NonNullable<BenchOptions["ssh"]> = {
    send: async (_receipt, { host }) => {
      hosts.push(host);
      return { kind: "never_sent", reason: "helper_failed", detail: "no host", elapsedMs: 0, connected: false };
    },
  };
  const held = { eachUse: true, disabled: false, origin: provider.origin };
  bench = await startBench(pack, { ssh, credentials: ["acme-token", "acme-ssh"].map((label) => [label, held]) });
  const run = await bench.openApproved(caller, ["acme.thing.set"]);
  const set = async (name: string) => {
    const setting = start(run, "acme.thing.set", caller, { name });
    await bench.approve();
    assert.deepEqual([(await setting).outcome, (await setting).confirmed], ["success", false]);
  };
  await set("one");
  assert.deepEqual(hosts, []);
  bench.credentials.set("acme-ssh", { ...held, eachUse: false });
  await set("two");
  assert.deepEqual(hosts, ["app-1.acme.example"]);
});

test("what can create, or send, without a bound on its cost needs a yes to every call, in a session that was approved too", async () => {
  const actions = ["acme.thing.make", "acme.thing.tell"];
  const run = await bench.openApproved(caller, actions);
  for (const [sent, action] of [...actions, ...actions].entries()) {
    const calling = start(run, action, caller, { name: `n${sent}` });
    const { card } = await bench.waiting();
    assert.deepEqual([card?.asks, card?.call?.maximum_cents], ["call", null]);
    assert.equal(provider.received.length, sent);
    await bench.approve();
    assert.equal((await calling).outcome, "success");
  }
});

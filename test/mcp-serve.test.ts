import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { DecisionStatement } from "../src/conventions/approval/decision.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { openWire, PARENT, soon, waiting } from "./mcp-stand.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, startBench, TOKEN } from "./support/gateway.ts";
import { grantFor } from "./support/grant.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;

function packText(origin: string): string {
  return `
format: gw.pack/v1
pack: acme
provider:
  origin: ${origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
actions:
  thing.get:
    effect: read
    description: Reads one thing.
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
  thing.change:
    effect: write
    request: { method: POST, path: /v1/things, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 5000 }
  thing.burn:
    effect: write
    needs: { approval: each_use }
    request: { method: POST, path: /v1/burnt, body: application/json }
    input:
      name: { in: body, type: string }
  other.make:
    effect: create
    request: { method: POST, path: /v1/other, body: application/json }
    input:
      name: { in: body, type: string, optional: true }
`;
}

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(packText(provider.origin));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly outputSchema: { readonly properties: object };
  readonly annotations: Readonly<Record<string, unknown>>;
}

const OWN = [
  "gw_budget",
  "gw_wait",
  "gw_request_access",
  "gw_reconcile",
  "gw_repeat_call",
  "gw_cancel_operation",
  "gw_resume_operation",
];

/** Those of the specification's unknown-outcome tool result. */
const UNKNOWN_FIELDS = [
  "outcome",
  "operation_id",
  "correlation_id",
  "transport_observation",
  "retry_allowed",
  "reconcile",
];

async function approve(narrow: DecisionStatement["narrow"] = null): Promise<void> {
  await waiting(bench);
  await bench.approve(narrow);
}

async function deny(reason: string): Promise<void> {
  await waiting(bench);
  await bench.deny(reason);
}

const types = (): readonly string[] => bench.events().map(({ event_type }) => event_type);
const get = "acme__thing-get";

test("every action that may be called is a tool, with schemas, hints by its effect and always the same order", async () => {
  const wire = await openWire(bench);
  const { tools } = (await wire.request("tools/list"))["result"] as { tools: readonly ListedTool[] };
  assert.deepEqual(
    tools.map(({ name }) => name),
    [
      "gw_budget",
      "gw_wait",
      "gw_request_access",
      "gw_reconcile",
      "gw_repeat_call",
      "gw_cancel_operation",
      "gw_resume_operation",
      "acme__other-make",
      "acme__thing-burn",
      "acme__thing-change",
      "acme__thing-get",
    ],
  );
  const [, wait, , , , , , make, , change, read] = tools;
  assert.ok(wait && make && change && read);
  assert.deepEqual(read.inputSchema, {
    type: "object",
    properties: { id: { type: "string", maxLength: 64 } },
    required: ["id"],
    additionalProperties: false,
  });
  assert.match(read.description, /^Reads one thing\.\n.*GET \/v1\/things\/\{id\}/);
  assert.deepEqual(read.annotations, { readOnlyHint: true, openWorldHint: true });
  assert.deepEqual([change.annotations["destructiveHint"], make.annotations["destructiveHint"]], [true, false]);
  assert.equal(wait.annotations["readOnlyHint"], true);
  for (const field of UNKNOWN_FIELDS) assert.ok(field in read.outputSchema.properties, field);
  assert.deepEqual((await wire.request("tools/list"))["result"], { tools });
});

test("nobody is asked when a client connects and looks around, only at its first call", async () => {
  const probe = await openWire(bench);
  await probe.request("tools/list");
  assert.equal((await probe.call("gw_budget")).structuredContent["state"], "none");
  probe.peer.end();
  await bench.time.advance(2_000);
  assert.deepEqual(bench.gateway.desk.list(), []);
  assert.deepEqual(types(), []);
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "7" });
  const { card } = await waiting(bench);
  assert.equal(provider.received.length, 0);
  await approve();
  const { structuredContent, isError } = await called;
  assert.equal(isError, undefined);
  assert.equal(structuredContent["state"], "done");
  assert.equal(structuredContent["outcome"], "success");
  assert.ok(!JSON.stringify(structuredContent).includes(TOKEN));
  assert.deepEqual(card?.scope?.actions, ["acme.thing.get"], "what the call needs");
});

test("a call that its session has no action for is asked about in full, once for all that come with it, and is in it then", async () => {
  const wire = await openWire(bench);
  const first = wire.call(get, { id: "7" });
  await approve();
  await first;
  const both = ["x", "y"].map((name) => wire.call("acme__thing-change", { name }));
  const { card, mode } = await waiting(bench);
  assert.deepEqual([mode, card?.scope?.actions], ["access", ["acme.thing.change"]]);
  assert.deepEqual(card?.call?.arguments, { name: "x" });
  assert.equal(provider.received.length, 1);
  await approve();
  for (const called of both) assert.equal((await called).structuredContent["outcome"], "success");
  assert.equal((await wire.call("acme__thing-change", { name: "z" })).structuredContent["outcome"], "success");
  assert.equal(types().filter((type) => type === "approval_requested").length, 2);
  assert.equal(types().filter((type) => type === "session_widened").length, 1);
  const burnt = wire.call("acme__thing-burn", { name: "x" });
  await deny("not that");
  assert.equal((await burnt).structuredContent["code"], "approval_denied");
  assert.equal((await wire.call(get, { id: "8" })).structuredContent["outcome"], "success", "the session goes on");
  assert.ok(!provider.received.some(({ url }) => url === "/v1/burnt"));
});

test("a grant that covers the calls of a bridge lets each action in without a card, and asks beyond it", async () => {
  const limits = { attempts: 9, sideEffects: 9, durationMs: 60_000, spendCents: 0 };
  bench.grants.push(grantFor(bench, "acme.thing.get", { name: "first", limits }));
  bench.grants.push(grantFor(bench, "acme.thing.change", { name: "second", effects: ["write"], limits }));
  const wire = await openWire(bench);
  assert.equal((await wire.call(get, { id: "7" })).structuredContent["outcome"], "success");
  assert.equal((await wire.call("acme__thing-change", { name: "x" })).structuredContent["outcome"], "success");
  const widened = bench.events().find((event) => event.event_type === "session_widened");
  assert.ok(widened?.event_type === "session_widened");
  assert.deepEqual([widened.approved_by, widened.scope], ["grant second", ["acme.thing.change"]]);
  void wire.call("acme__other-make", { name: "x" });
  assert.equal((await waiting(bench)).card?.call?.action, "acme.other.make");
});

test("calls beyond a grant that come together are one card, and one that is taken back speaks for no other", async () => {
  const limits = { attempts: 9, sideEffects: 9, durationMs: 60_000, spendCents: 0 };
  bench.grants.push(grantFor(bench, "acme.thing.get", { name: "first", limits }));
  const wire = await openWire(bench);
  await wire.call(get, { id: "7" });
  // Whoever takes a call back gets no answer to it.
  const [, second] = ["x", "y", "z"].map((name, at) => wire.call("acme__thing-change", { name }, undefined, 70 + at));
  const asked = await waiting(bench);
  assert.deepEqual(asked.card?.call?.arguments, { name: "x" });
  assert.equal(bench.gateway.desk.list().length, 1, "one card for all three");
  wire.notify("notifications/cancelled", { requestId: 72 });
  wire.notify("notifications/cancelled", { requestId: 70 });
  const next = await soon("the next card", () =>
    bench.gateway.desk.list().find(({ approvalId, state }) => approvalId !== asked.approvalId && state === "pending"),
  );
  assert.deepEqual(next.card?.call?.arguments, { name: "y" });
  assert.equal(bench.gateway.desk.find(asked.approvalId)?.state, "withdrawn");
  await approve();
  assert.equal((await second)?.structuredContent["outcome"], "success");
  assert.deepEqual(
    bench.events().flatMap((event) => (event.event_type === "call_denied" ? [event.code] : [])),
    ["call_cancelled", "call_cancelled"],
  );
  assert.equal(types().filter((type) => type === "approval_requested").length, 2);
});

test("the card leads with the bridge and shows its parent as context and the client's name as a claim", async () => {
  const wire = await openWire(bench);
  void wire.call(get, { id: "7" });
  const { card } = await waiting(bench);
  assert.match(card?.notes[0] ?? "", /gw mcp.*speaks for whoever holds its input/);
  assert.match(card?.notes[1] ?? "", /process 4242.*\/opt\/agent\/bin\/agent.*context only/);
  assert.equal(card?.run.purpose_claimed, "work for the MCP client hand 1.0");
});

test("calls that come together open one run, and the later ones need no new question", async () => {
  const wire = await openWire(bench);
  const calls = ["1", "2", "3"].map((id) => wire.call(get, { id }));
  await approve();
  const runs = new Set((await Promise.all(calls)).map(({ structuredContent }) => structuredContent["run_id"]));
  assert.equal(runs.size, 1);
  assert.equal((await wire.call(get, { id: "4" })).structuredContent["outcome"], "success");
  assert.equal(types().filter((type) => type === "approval_requested").length, 1);
});

test("a long approval gives progress, then a structured pending result, and gw_wait gives the result later", async () => {
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "7" }, { progressToken: "t1" });
  await waiting(bench);
  await bench.time.advance(defaults.mcpWaitMs);
  const pending = await called;
  assert.equal(pending.isError, undefined);
  const { state, call_id } = pending.structuredContent;
  assert.equal(state, "pending");
  assert.match(pending.content[0]?.text ?? "", /gw_wait/);
  const steps = wire.notified.filter(({ method }) => method === "notifications/progress");
  assert.deepEqual(
    steps.map(({ params }) => [params["progressToken"], params["progress"]]),
    Array.from({ length: 8 }, (_, index) => ["t1", index + 1]),
  );
  const again = wire.call("gw_wait", { id: call_id });
  await bench.time.advance(defaults.mcpWaitMs);
  assert.equal((await again).structuredContent["state"], "pending");
  const last = wire.call("gw_wait", { id: call_id });
  await approve();
  const { structuredContent } = await last;
  assert.equal(structuredContent["outcome"], "success");
  assert.equal(structuredContent["call_id"], call_id);
  assert.equal(provider.received.length, 1);
});

test("without a progress token there is no progress", async () => {
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "7" });
  await waiting(bench);
  await bench.time.advance(defaults.mcpWaitMs);
  assert.equal((await called).structuredContent["state"], "pending");
  assert.deepEqual(wire.notified, []);
});

test("a denial arrives with its code and the person's reason, and the same question cools down", async () => {
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "7" });
  await deny("not on a Friday");
  const denied = await called;
  assert.equal(denied.isError, true);
  assert.equal(denied.structuredContent["code"], "approval_denied");
  assert.match(String(denied.structuredContent["message"]), /not on a Friday/);
  assert.equal((await wire.call(get, { id: "7" })).structuredContent["code"], "approval_cooling_down");
  assert.equal(provider.received.length, 0);
});

test("a bridge may be set up for a part of a pack, and offers that part", async () => {
  const wire = await openWire(bench, '{"actions":["acme.thing.*"]}');
  const { tools } = (await wire.request("tools/list"))["result"] as { tools: readonly ListedTool[] };
  const names = tools.map(({ name }) => name).filter((name) => name.includes("__"));
  assert.deepEqual(names, ["acme__thing-burn", "acme__thing-change", "acme__thing-get"]);
});

test("a tool outside the scope and one that does not exist get the same answer, and both are recorded", async () => {
  const wire = await openWire(bench, '{"actions":["acme.thing.get"]}');
  const before = [await wire.call("acme__thing-change", { name: "x" }), await wire.call("nobody__knows-it", {})];
  assert.deepEqual(bench.gateway.desk.list(), []);
  void wire.call(get, { id: "7" });
  await approve();
  await soon("the session", () => bench.gateway.sessions().length > 0);
  const after = [await wire.call("acme__thing-change", { name: "x" }), await wire.call("nobody__knows-it", {})];
  for (const { isError, structuredContent } of [...before, ...after]) {
    assert.equal(isError, true);
    assert.equal(structuredContent["code"], "action_not_permitted");
    assert.equal(structuredContent["message"], "This run may not do that.");
  }
  const denials = bench.eventsOf("call_denied");
  assert.equal(denials.length, 4);
});

test("nobody is asked about arguments that do not fit", async () => {
  const wire = await openWire(bench);
  for (const input of [{}, { id: 7 }, { id: "7", extra: true }, { id: ".." }]) {
    const { isError, structuredContent } = await wire.call(get, input);
    assert.equal(isError, true, JSON.stringify(input));
    assert.equal(structuredContent["state"], "denied");
  }
  assert.deepEqual(bench.gateway.desk.list(), []);
  assert.ok(!types().includes("run_started"));
});

test("an unknown outcome carries every specified field, is no error, and says what must not be done", async () => {
  provider.answer((_request, response) => response.destroy());
  const wire = await openWire(bench);
  const called = wire.call("acme__thing-change", { name: "x" });
  await approve();
  const { structuredContent, content, isError } = await called;
  assert.equal(isError, undefined);
  assert.equal(structuredContent["outcome"], "unknown");
  for (const field of UNKNOWN_FIELDS) assert.ok(field in structuredContent, field);
  assert.equal(structuredContent["retry_allowed"], false);
  assert.match(content[0]?.text ?? "", /^OUTCOME UNKNOWN.*Do not repeat it.*sends nothing.*gw_reconcile/);
});

test("what the provider refuses is an error result with its answer", async () => {
  provider.answer((_request, response) => {
    response.writeHead(422, { "content-type": "application/json" });
    response.end('{"why":"no"}');
  });
  const wire = await openWire(bench);
  const called = wire.call("acme__thing-change", { name: "x" });
  await approve();
  const { structuredContent, isError } = await called;
  assert.equal(isError, true);
  assert.deepEqual([structuredContent["state"], structuredContent["outcome"]], ["done", "error"]);
});

test("a cancel before dispatch means that nothing is sent, and the question about that very call is taken back", async () => {
  const wire = await openWire(bench);
  void wire.call("acme__thing-burn", { name: "x" }, undefined, 900);
  await soon("the card of session and call", () => bench.gateway.desk.list()[0]?.callId ?? undefined);
  wire.notify("notifications/cancelled", { requestId: 900, reason: "changed my mind" });
  await soon("no card is left", () => bench.gateway.desk.list().length === 0);
  await bench.time.advance(2_000);
  assert.equal(provider.received.length, 0);
  const denied = await soon("the denial", () => bench.events().find((event) => event.event_type === "call_denied"));
  assert.ok(denied.event_type === "call_denied" && ["call_cancelled", "approval_withdrawn"].includes(denied.code));
});

test("a call that was cancelled while the session's question stands is not sent when the session is approved", async () => {
  const wire = await openWire(bench, '{"actions":["acme.*"]}');
  void wire.call("acme__thing-change", { name: "x" }, undefined, 900);
  const other = wire.call(get, { id: "7" });
  await waiting(bench);
  wire.notify("notifications/cancelled", { requestId: 900 });
  await soon("the denial", () => bench.events().some((event) => "code" in event && event.code === "call_cancelled"));
  await approve();
  assert.equal((await other).structuredContent["outcome"], "success");
  assert.deepEqual(
    provider.received.map(({ method }) => method),
    ["GET"],
  );
});

test("a cancel after dispatch changes nothing: the outcome is recorded, and gw_wait still gives it", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  provider.answer((_request, response) => void held.then(() => response.end("{}")));
  const wire = await openWire(bench);
  void wire.call("acme__thing-change", { name: "x" }, undefined, 900);
  await approve();
  await soon("the request", () => provider.received.length === 1);
  wire.notify("notifications/cancelled", { requestId: 900 });
  await wire.request("ping");
  release();
  const finished = await soon("the completion", () =>
    bench.events().find((event) => event.event_type === "action_finished"),
  );
  assert.ok(finished.event_type === "action_finished");
  assert.equal(finished.outcome, "succeeded");
  const { structuredContent } = await wire.call("gw_wait", { id: finished.call_id });
  assert.equal(structuredContent["outcome"], "success");
});

test("a client that dies mid-call loses its session, and what was sent is still recorded", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  provider.answer((_request, response) => void held.then(() => response.end("{}")));
  const wire = await openWire(bench);
  void wire.call("acme__thing-change", { name: "x" });
  await approve();
  await soon("the request", () => provider.received.length === 1);
  wire.peer.end();
  await soon("the end of the session", () => types().includes("session_ended"));
  release();
  await soon("the completion", () => types().includes("action_finished"));
  const ended = bench.events().find((event) => event.event_type === "session_ended");
  assert.ok(ended?.event_type === "session_ended");
  assert.equal(ended.end_reason, "connection_closed");
});

test("a client that dies before anybody decided takes its question along", async () => {
  const wire = await openWire(bench);
  void wire.call("acme__thing-change", { name: "x" });
  await waiting(bench);
  wire.peer.end();
  await soon("no card is left", () => bench.gateway.desk.list().length === 0);
  assert.equal(provider.received.length, 0);
});

test("the session ends with the parent that the bridge speaks for", async () => {
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "7" });
  await approve();
  await called;
  wire.parent = undefined;
  await bench.time.advance(3_000);
  assert.equal(wire.closed, false);
  wire.parent = { ...PARENT, startTime: "78" };
  await untilDone(bench.time, defaults.mcpLookMs, () => wire.closed);
  const ended = bench.events().find((event) => event.event_type === "session_ended");
  assert.ok(ended?.event_type === "session_ended");
  assert.equal(ended.end_reason, "parent_exited");
});

test("after expiry the next call opens a new run with a new card, never the old run again", async () => {
  const wire = await openWire(bench, '{"budget":{"duration_seconds":60}}');
  const first = wire.call(get, { id: "1" });
  await approve();
  const one = (await first).structuredContent["run_id"];
  await bench.time.advance(61_000);
  await soon("the end of the run", () => types().includes("run_ended"));
  const second = wire.call(get, { id: "2" });
  await approve();
  const other = (await second).structuredContent["run_id"];
  assert.notEqual(one, other);
  assert.equal(types().filter((type) => type === "approval_approved").length, 2);
});

test("a budget stop is a denial that names the limit, and gw_budget shows it", async () => {
  const wire = await openWire(bench, '{"budget":{"attempts":1}}');
  const first = wire.call(get, { id: "1" });
  await approve();
  await first;
  assert.equal((await wire.call(get, { id: "2" })).structuredContent["code"], "attempts_exhausted");
  const { structuredContent } = await wire.call("gw_budget");
  assert.equal(structuredContent["attempts_remaining"], 0);
  assert.equal(structuredContent["budget_stop_reason"], "attempts_exhausted");
});

test("the tool list follows the granted scope, with a notification", async () => {
  const wire = await openWire(bench, '{"actions":["acme.*"]}');
  const called = wire.call(get, { id: "7" });
  await approve({ actions: ["acme.thing.get"], request_bytes: null, budget: null });
  await called;
  await bench.time.advance(defaults.mcpLookMs);
  await soon("the notification", () =>
    wire.notified.some(({ method }) => method === "notifications/tools/list_changed"),
  );
  const { tools } = (await wire.request("tools/list"))["result"] as { tools: readonly { name: string }[] };
  assert.deepEqual(
    tools.map(({ name }) => name),
    [...OWN, "acme__thing-get"],
  );
  assert.equal(
    (await wire.call("acme__thing-change", { name: "x" })).structuredContent["code"],
    "action_not_permitted",
  );
});

test("access that is asked for is a card of its own, and the approved action can then be called", async () => {
  const wire = await openWire(bench, '{"actions":["acme.thing.get"]}');
  const called = wire.call(get, { id: "7" });
  await approve();
  await called;
  const asked = wire.call("gw_request_access", { actions: ["acme.thing.change"], reason: "to rename it" });
  const { card, mode } = await waiting(bench);
  assert.equal(mode, "access");
  assert.equal(card?.asks, "access");
  assert.deepEqual(card?.scope?.actions, ["acme.thing.change"]);
  assert.equal(card?.run.purpose_claimed, "to rename it");
  await approve();
  const { structuredContent } = await asked;
  assert.deepEqual([structuredContent["state"], structuredContent["granted"]], ["granted", ["acme.thing.change"]]);
  assert.equal((await wire.call("acme__thing-change", { name: "x" })).structuredContent["outcome"], "success");
  const widened = bench.events().find((event) => event.event_type === "session_widened");
  assert.ok(widened?.event_type === "session_widened");
  assert.deepEqual([widened.scope, widened.approved_by], [["acme.thing.change"], "ada"]);
});

test("access that a person refuses stays refused, with their reason", async () => {
  const wire = await openWire(bench, '{"actions":["acme.thing.get"]}');
  const called = wire.call(get, { id: "7" });
  await approve();
  await called;
  const asked = wire.call("gw_request_access", { actions: ["acme.thing.change"], reason: "please" });
  await deny("reading is enough");
  const { structuredContent, isError } = await asked;
  assert.equal(isError, true);
  assert.match(String(structuredContent["message"]), /reading is enough/);
  assert.equal(
    (await wire.call("acme__thing-change", { name: "x" })).structuredContent["code"],
    "action_not_permitted",
  );
});

test("approving what no trusted pack defines gives nothing; the agent is told what a person still has to do", async () => {
  const wire = await openWire(bench, '{"actions":["acme.thing.get"]}');
  const called = wire.call(get, { id: "7" });
  await approve();
  await called;
  const input = { actions: ["other.thing.do"], credentials: ["other-token"], reason: "needed" };
  const asked = wire.call("gw_request_access", input);
  const { card, approvalId } = await waiting(bench);
  assert.equal(card?.scope, null);
  assert.ok(card?.notes.some((note) => note.includes("other.thing.do")));
  assert.ok(card?.notes.some((note) => note.includes("other-token")));
  await bench.time.advance(defaults.mcpWaitMs);
  assert.deepEqual((await asked).structuredContent["approval_id"], approvalId);
  const waited = wire.call("gw_wait", { id: approvalId });
  await approve();
  const { structuredContent } = await waited;
  assert.deepEqual(structuredContent["granted"], []);
  assert.deepEqual(structuredContent["noted"], ["other.thing.do", "other-token"]);
  assert.ok(!types().includes("session_widened"));
});

test("access that is asked for before any call waits for the session's question no longer than a call does", async () => {
  const wire = await openWire(bench, '{"actions":["acme.thing.get"]}');
  const asked = wire.call("gw_request_access", { actions: ["acme.thing.change"], reason: "both at once" });
  const first = await waiting(bench);
  assert.equal(first.mode, "session");
  await bench.time.advance(defaults.mcpWaitMs);
  const { state, approval_id } = (await asked).structuredContent;
  assert.deepEqual([state, approval_id], ["pending", first.approvalId]);
  const waited = wire.call("gw_wait", { id: approval_id });
  await approve();
  await soon("the card of the request", () => bench.gateway.desk.list()[0]?.mode === "access");
  await approve();
  assert.deepEqual((await waited).structuredContent["granted"], ["acme.thing.change"]);
});

test("access that is asked for while the session is refused is refused with it", async () => {
  const wire = await openWire(bench);
  const asked = wire.call("gw_request_access", { actions: ["other.thing.do"], reason: "x" });
  await deny("no");
  assert.equal((await asked).structuredContent["code"], "approval_denied");
});

test("where a grant covers the session, wider access still asks a person", async () => {
  bench.grants.push(grantFor(bench, "acme.thing.get"));
  const wire = await openWire(bench, '{"actions":["acme.thing.get"]}');
  const asked = wire.call("gw_request_access", { actions: ["acme.thing.change"], reason: "x" });
  assert.equal((await waiting(bench)).mode, "access");
  await approve();
  assert.deepEqual((await asked).structuredContent["granted"], ["acme.thing.change"]);
});

test("what a session already has is not asked for again, and what does not fit is not asked at all", async () => {
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "7" });
  await approve();
  await called;
  const have = await wire.call("gw_request_access", { actions: ["acme.thing.get"], reason: "again" });
  assert.deepEqual(have.structuredContent["granted"], ["acme.thing.get"]);
  for (const input of [
    {},
    { reason: "x" },
    { reason: "x", actions: ["\u202eevil"] },
    { reason: "x", actions: ["a.b"], more: 1 },
  ]) {
    assert.equal((await wire.call("gw_request_access", input)).structuredContent["code"], "schema_violation");
  }
  assert.deepEqual(bench.gateway.desk.list(), []);
});

test("another caller's call is not found by gw_wait, and neither is nonsense", async () => {
  const mine = await openWire(bench);
  const called = mine.call(get, { id: "7" });
  await approve();
  const { structuredContent } = await called;
  const other = await openWire(bench);
  for (const id of [structuredContent["call_id"], "call_nonsense", "x"]) {
    assert.equal((await other.call("gw_wait", { id })).structuredContent["code"], "not_found");
  }
  assert.equal((await other.call("gw_wait", {})).structuredContent["code"], "schema_violation");
});

test("a flood of calls is bounded, answered, and asks one question", async () => {
  const wire = await openWire(bench);
  const flood = Array.from({ length: 3 * defaults.mcpRequestsOpen }, (_, index) =>
    wire.request("tools/call", { name: get, arguments: { id: "7" } }, 10_000 + index),
  );
  await waiting(bench);
  const refused = await Promise.all(flood.slice(defaults.mcpRequestsOpen));
  for (const answer of refused) {
    assert.equal((answer["error"] as { data: { code: string } }).data.code, "too_many_requests");
  }
  assert.equal(bench.gateway.desk.list().length, 1);
  await deny("stop");
  const rest = await Promise.all(flood.slice(0, defaults.mcpRequestsOpen));
  for (const answer of rest) assert.ok("result" in answer);
  assert.equal(provider.received.length, 0);
});

test("a locked gateway denies with the words for it, and nothing is a fault", async () => {
  await bench.gateway.lock("test", "ada");
  const wire = await openWire(bench);
  assert.equal((await wire.call(get, { id: "7" })).structuredContent["code"], "gateway_locked");
  assert.deepEqual(wire.faults, []);
});

test("a result that is too large for a client's line says so and keeps the outcome", async () => {
  const text = "x".repeat(defaults.mcpResultBytes);
  const json = JSON.stringify({ text, more: text });
  provider.answer((request, response) => {
    const isJson = request.url.endsWith("json");
    response.writeHead(200, { "content-type": isJson ? "application/json" : "text/plain" });
    response.end(isJson ? json : text);
  });
  const wire = await openWire(bench);
  const called = wire.call(get, { id: "text" });
  await approve();
  for (const [{ structuredContent }, bytes] of [
    [await called, text.length],
    [await wire.call(get, { id: "json" }), json.length],
  ] as const) {
    assert.equal(structuredContent["outcome"], "success");
    const response = structuredContent["response"] as Record<string, unknown>;
    assert.deepEqual([response["body"], response["body_kind"], response["body_bytes"]], [null, "omitted", bytes]);
  }
});

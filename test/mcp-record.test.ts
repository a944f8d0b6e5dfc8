import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { EventOf } from "../src/audit/event.ts";
import { openWire, type Wire, waiting } from "./mcp-stand.ts";
import { consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let wire: Wire;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(`${consequentialPack(provider.origin)}
  secret.set:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: "/secrets/{name}", body: application/json }
    input:
      name: { in: path, type: string }
      value: { in: body, type: string, sensitive: true }
`);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  wire = await openWire(bench);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

function refused(correlationId: unknown): EventOf<"request_refused"> {
  const found = bench
    .events()
    .filter((event): event is EventOf<"request_refused"> => event.event_type === "request_refused")
    .filter(({ correlation_id }) => correlation_id === correlationId);
  assert.equal(found.length, 1);
  return found[0] ?? assert.fail();
}

const OP = `op_${"0".repeat(26)}`;

for (const [tool, input, code] of [
  ["gw_wait", { id: OP }, "not_found"],
  ["gw_wait", { id: `call_${"0".repeat(26)}` }, "not_found"],
  ["gw_reconcile", { operation_id: OP }, "not_found"],
  ["gw_cancel_operation", { operation_id: OP, reason: "x" }, "not_found"],
  ["gw_resume_operation", { operation_id: OP, reason: "x" }, "not_found"],
  ["gw_reconcile", { operation: OP }, "schema_violation"],
  ["gw_budget", { more: true }, "schema_violation"],
  ["gw_request_access", {}, "schema_violation"],
  ["acme__report-create", { acount: "a1" }, "schema_violation"],
  ["acme__nothing", {}, "action_not_permitted"],
] as const) {
  test(`${tool} with ${JSON.stringify(input)} is refused and told: ${code}`, async () => {
    const { structuredContent, isError } = await wire.call(tool, input);
    assert.deepEqual([isError, structuredContent["code"]], [true, code]);
    const event = refused(structuredContent["correlation_id"]);
    assert.deepEqual([event.plane, event.endpoint, event.code], ["mcp", `tools/call ${tool}`, code]);
    assert.match(event.principal, /pid \d+ uid \d+/);
    assert.match(event.body_digest ?? "", /^sha256:/);
    assert.equal(event.run_id ?? null, structuredContent["run_id"]);
  });
}

test("a call that a person denied is told with its run and its call", async () => {
  const calling = wire.call("acme__report-create", { account: "a1" });
  await waiting(bench);
  await bench.deny("no");
  const { structuredContent } = await calling;
  const event = refused(structuredContent["correlation_id"]);
  assert.equal(event.run_id, structuredContent["run_id"]);
  assert.match(String(event.run_id), /^run_/);
});

test("the trace that a client names in _meta is kept as its claim, and anything else there is not", async () => {
  const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (const [traceparent, kept] of [
    [trace, trace],
    [`${trace}-more`, undefined],
    [{ toString: "x" }, undefined],
  ] as const) {
    await wire.call("gw_reconcile", { operation_id: OP }, { traceparent });
    const event = bench.events().findLast(({ event_type }) => event_type === "request_refused");
    assert.equal((event as EventOf<"request_refused">).traceparent_claimed, kept);
  }
  const calling = wire.call("acme__report-create", { account: "a2" }, { traceparent: trace });
  await waiting(bench);
  await bench.approve();
  await calling;
  const intent = bench.events().findLast(({ event_type }) => event_type === "intent_accepted");
  assert.equal((intent as EventOf<"intent_accepted">).traceparent_claimed, trace, "on the intent of what was sent");
});

test("a call that is asked for once more is told like any other: of a sensitive argument its size and digest", async () => {
  const secret = "correct horse battery";
  const again = { action: "acme.secret.set", input: { name: "ci", value: secret }, repeat_of: OP };
  const calling = wire.call("gw_repeat_call", again);
  await waiting(bench);
  await bench.approve();
  const { structuredContent } = await calling;
  const { fields_digest } = refused(structuredContent["correlation_id"]);
  const kept = bench.eventsOf("content_kept").find(({ digest }) => digest === fields_digest)?.text ?? assert.fail();
  assert.match(kept, /"name":"ci"/);
  assert.match(kept, new RegExp(OP));
  assert.ok(!JSON.stringify(bench.events()).includes(secret), "a sensitive value is in the log");
});

test("what stands beside the arguments of such a call, where its tool has no such member, is not kept", async () => {
  const secret = "correct horse battery";
  const flat = { action: "acme.secret.set", repeat_of: OP, name: "ci", value: secret };
  const { structuredContent } = await wire.call("gw_repeat_call", flat);
  const { fields_digest } = refused(structuredContent["correlation_id"]);
  const kept = bench.eventsOf("content_kept").find(({ digest }) => digest === fields_digest)?.text ?? assert.fail();
  assert.match(kept, new RegExp(OP));
  assert.ok(!JSON.stringify(bench.events()).includes(secret), "a sensitive value is in the log");
});

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { soon, waiting } from "./mcp-stand.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(`
format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", network: private }
actions:
  thing.get: { effect: read, request: { method: GET, path: /v1/things } }
  thing.burn:
    effect: write
    needs: { approval: each_use }
    request: { method: POST, path: /v1/burnt, body: application/json }
    input: { name: { in: body, type: string } }
`);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

/** A run that its first call opened; that call is taken back while another waits for the session. */
async function takeFirstBack() {
  const caller = scriptedCaller();
  const limits = { attempts: 40, sideEffects: 5, durationMs: 86_400_000, spendCents: 0 };
  const actions = ["acme.thing.get", "acme.thing.burn"];
  const run = await bench.gateway.openRun(caller, { purpose: "test", actions, limits, opensWithCall: true });
  const first = bench.gateway.startCall(caller, run.id, { action: "acme.thing.burn", input: { name: "x" } });
  const { approvalId } = await waiting(bench);
  const other = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: {} });
  other.done.catch(() => undefined);
  assert.equal(await bench.gateway.takeBack(caller, first.id), true);
  await assert.rejects(first.done, denies("call_cancelled"));
  await soon("the card without the call", () => bench.gateway.desk.list().find(({ callId }) => callId === null));
  assert.equal(bench.gateway.desk.find(approvalId)?.state, "withdrawn");
  return { run, other };
}

test("a session is asked for without the call that was taken back, and a yes to it serves the others", async () => {
  const { other } = await takeFirstBack();
  await bench.approve();
  assert.equal((await other.done).outcome, "success");
  assert.deepEqual(
    provider.received.map(({ url }) => url),
    ["/v1/things"],
  );
});

test("a no to it is told to the others, and ends nothing but the run", async () => {
  const { run, other } = await takeFirstBack();
  await bench.deny("not today");
  await assert.rejects(other.done, denies("approval_denied"));
  assert.equal(run.state, "ended");
  assert.equal(provider.received.length, 0);
});

test("where the session without the call was denied a moment ago, nobody is asked for it, and the call is taken back", async () => {
  const caller = scriptedCaller();
  const limits = { attempts: 40, sideEffects: 5, durationMs: 86_400_000, spendCents: 0 };
  const asked = { purpose: "test", actions: ["acme.thing.get", "acme.thing.burn"], limits };
  await bench.gateway.openRun(caller, asked);
  await waiting(bench);
  await bench.deny("not today");
  const run = await bench.gateway.openRun(caller, { ...asked, opensWithCall: true });
  const first = bench.gateway.startCall(caller, run.id, { action: "acme.thing.burn", input: { name: "x" } });
  const { approvalId } = await waiting(bench);
  const other = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: {} });
  const refused = assert.rejects(other.done, denies("approval_withdrawn"));
  assert.equal(await bench.gateway.takeBack(caller, first.id), true);
  await assert.rejects(first.done, denies("call_cancelled"));
  await refused;
  assert.deepEqual([bench.gateway.desk.find(approvalId)?.state, bench.gateway.desk.list()], ["withdrawn", []]);
  assert.equal(run.state, "ended");
});

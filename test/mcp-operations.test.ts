import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { type Members, openWire, type Wire, waiting } from "./mcp-stand.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let wire: Wire;
let state: string;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(consequentialPack(provider.origin));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  wire = await openWire(bench);
  state = "running";
  provider.answer((request, response) => {
    const { method, url } = request;
    if (method === "POST" && url === "/v1/reports")
      return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/v1/jobs/job-1" });
    if (url === "/v1/jobs/job-1/result") return answerJson(response, 200, { rows: 42 });
    if (method === "POST" && url === "/v1/jobs/job-1/resume") {
      state = "running";
      return answerJson(response, 202, { job_id: "job-1", state: "queued" });
    }
    if (method === "DELETE") return answerJson(response, 202, { state });
    if (url.startsWith("/v1/jobs/")) {
      const progress = { completed: 1, total: 2 };
      return answerJson(response, 200, { job_id: "job-1", state, updated_at: "x", progress });
    }
    return answerJson(response, 404, {});
  });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

/** What a tool gives, with the clock moved along where something waits for it. */
async function settled(work: Promise<{ readonly structuredContent: Members }>): Promise<Members> {
  let done = false;
  void work.finally(() => {
    done = true;
  });
  await untilDone(bench.time, 500, () => done);
  return (await work).structuredContent;
}

async function createReport(): Promise<string> {
  const called = wire.call("acme__report-create", { account: "a1" });
  await waiting(bench);
  await bench.approve();
  const { operation_id } = await settled(called);
  assert.match(String(operation_id), /^op_/);
  return String(operation_id);
}

test("a job goes on after its call: gw_wait with the operation gives its end and its result", async () => {
  const id = await createReport();
  const early = await settled(wire.call("gw_wait", { id }));
  assert.equal(early["settled"], false);
  state = "succeeded";
  const late = await settled(wire.call("gw_wait", { id }));
  assert.deepEqual([late["state"], late["settled"]], ["succeeded", true]);
  assert.ok(JSON.stringify(late["result"]).includes("42"));
});

test("a job is cancelled by asking, and only the provider says how it ended", async () => {
  const id = await createReport();
  const asked = wire.call("gw_cancel_operation", { operation_id: id, reason: "no longer needed" });
  assert.equal((await waiting(bench)).mode, "access", "the session was asked for to create it, and no more");
  await bench.approve();
  const answer = await settled(asked);
  assert.equal(answer["state"], "done", JSON.stringify(answer));
  const meanwhile = await settled(wire.call("gw_wait", { id }));
  assert.notEqual(meanwhile["state"], "cancelled");
  state = "cancelled";
  assert.equal((await settled(wire.call("gw_wait", { id })))["state"], "cancelled");
});

test("a job that failed goes on by asking, and what has not failed does not", async () => {
  const id = await createReport();
  const early = await settled(wire.call("gw_resume_operation", { operation_id: id, reason: "hurry" }));
  assert.deepEqual([early["state"], early["code"]], ["denied", "operation_not_resumable"]);
  state = "failed";
  assert.equal((await settled(wire.call("gw_wait", { id })))["state"], "failed");
  const resuming = wire.call("gw_resume_operation", { operation_id: id, reason: "the disk was full" });
  await waiting(bench);
  await bench.approve();
  const asked = await settled(resuming);
  assert.deepEqual([asked["state"], asked["outcome"], asked["operation_id"]], ["done", "unknown", id]);
  state = "succeeded";
  assert.equal((await settled(wire.call("gw_wait", { id })))["state"], "succeeded");
});

test("an operation is read again by asking, without repeating anything", async () => {
  const id = await createReport();
  const record = await settled(wire.call("gw_reconcile", { operation_id: id }));
  assert.deepEqual([record["operation_id"], record["remote_state"]], [id, "running"], JSON.stringify(record));
  assert.equal(provider.received.filter(({ method }) => method === "POST").length, 1);
});

test("another caller's operation is not found, and what does not fit is refused", async () => {
  const id = await createReport();
  const other = await openWire(bench);
  for (const [name, input] of [
    ["gw_wait", { id }],
    ["gw_reconcile", { operation_id: id }],
    ["gw_cancel_operation", { operation_id: id, reason: "mine" }],
    ["gw_resume_operation", { operation_id: id, reason: "mine" }],
  ] as const) {
    assert.equal((await settled(other.call(name, input)))["code"], "not_found", name);
  }
  for (const [name, input] of [
    ["gw_reconcile", {}],
    ["gw_cancel_operation", { operation_id: id }],
    ["gw_resume_operation", { operation_id: id }],
    ["gw_cancel_operation", { operation_id: id, reason: "x", force: true }],
  ] as const) {
    assert.equal((await settled(wire.call(name, input)))["code"], "schema_violation", name);
  }
  assert.equal(provider.received.filter(({ method }) => method === "DELETE").length, 0);
});

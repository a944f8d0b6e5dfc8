import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { budgetRecord } from "../src/conventions/budget/record.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { problemOf } from "../src/kernel/problem.ts";
import { answering } from "../src/surfaces/cli/answer.ts";
import type { CliIo } from "../src/surfaces/cli/io.ts";
import { deniedResult } from "../src/surfaces/mcp/results.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const PAID = `
  thing.buy:
    effect: write
    retry: idempotent_write
    max_cost_cents: 40
    request: { method: POST, path: /v1/buy, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
`;

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  provider.answer(({ method, url }, response) => {
    if (method === "POST" && url === "/v1/reports")
      return answerJson(response, 202, { job_id: "job-1", state: "queued" });
    return answerJson(response, 200, { job_id: "job-1", state: "running", name: "x" });
  });
  caller = scriptedCaller();
  bench = await startBench(`${consequentialPack(provider.origin)}${PAID}`, {
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(limits: object): Promise<Run> {
  return bench.openApproved(caller, ["acme.thing.get", "acme.thing.buy", "acme.report.create"], limits);
}

async function call(run: Run, action: string, input: JsonObject): Promise<unknown> {
  let done = false;
  const work = bench.gateway.startCall(caller, run.id, { action: `acme.${action}`, input }).done;
  work.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 100, () => done);
  return work;
}

async function denied(work: Promise<unknown>): Promise<Denied> {
  const error = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Denied, String(error));
  return error;
}

/** What the three surfaces make of one refusal, by the very functions they use. */
async function reports(error: Denied): Promise<{ problem: JsonObject; tool: JsonObject; lines: readonly string[] }> {
  const lines: string[] = [];
  const io = { out: () => undefined, err: (line: string) => void lines.push(line) } as unknown as CliIo;
  await answering(io, () => Promise.reject(error));
  const tool = deniedResult(error, "cor_1").structuredContent as JsonObject;
  return { problem: problemOf(error, "cor_1") as unknown as JsonObject, tool, lines };
}

const stops = [
  ["attempts_exhausted", { attempts: 1 }, "thing.get", { id: "7" }, 1],
  ["side_effects_exhausted", { sideEffects: 1, spendCents: 100 }, "thing.buy", { name: "x" }, 1],
  ["spend_exhausted", { spendCents: 50 }, "thing.buy", { name: "x" }, 1],
  ["run_deadline_exhausted", { durationMs: 30_000 }, "thing.get", { id: "7" }, 0],
] as const;

for (const [code, limits, action, input, before] of stops) {
  test(`a budget-stop report is explicit: ${code} carries the budget record on every surface`, async () => {
    const run = await openApproved(limits);
    for (let count = 0; count < before; count++) await call(run, action, input);
    if (code === "run_deadline_exhausted") await bench.time.advance(30_000);
    const error = await denied(call(run, action, input));
    assert.equal(error.code, code);
    const expected = { ...budgetRecord(run.budget) };
    assert.equal(expected.budget_stop_reason, code);
    const { problem, tool, lines } = await reports(error);
    for (const told of [problem, tool]) {
      assert.equal(told["code"], code);
      assert.deepEqual(told["budget"], expected);
    }
    assert.equal(problem["status"], 403, "a budget denial is never a 429");
    assert.ok(
      lines.some((line) => line.includes(`first stopped by: ${code}`)),
      lines.join("\n"),
    );
    assert.ok(lines.some((line) => line.includes(`${expected.attempts_remaining} attempts`)));
    const logged = bench
      .events()
      .filter(({ event_type }) => event_type === "budget_denied" || event_type === "call_denied");
    assert.ok(logged.length > 0, "and it is in the log");
  });
}

test("poll_allowance_exhausted reports the last known state, the remote id and the operation's own budget", async () => {
  const run = await openApproved({});
  await call(run, "report.create", { account: "a1" });
  const [operation] = bench.gateway.operations.list();
  assert.ok(operation !== undefined);
  await untilDone(bench.time, 5_000, () => operation.problem !== null);
  const error = await denied(bench.gateway.reconcile(caller, operation.id));
  assert.equal(error.code, "poll_allowance_exhausted");
  const { problem, tool, lines } = await reports(error);
  for (const told of [problem, tool]) {
    assert.deepEqual(
      [told["operation_id"], told["remote_state"], told["remote_job_id"]],
      [operation.id, "running", "job-1"],
    );
    assert.deepEqual(told["budget"], { ...budgetRecord(operation.purse.budget) });
  }
  assert.ok(lines.some((line) => line.includes("left of the budget")));
  assert.equal(run.budget.stopReason, null, "polls do not use up the run");
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { signContext } from "../src/conventions/ticket/sign.ts";
import { learn } from "../src/gateway/operation/operations.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { isoTime } from "../src/kernel/clock.ts";
import type { OperationId, PlanId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type ManualTime, manualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack, previewBody } from "./support/consequential.ts";
import { type Bench, denies, operatorKeys, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const HOUR = 3_600_000;
const ACTIONS = ["acme.report.create", "acme.membership.plan", "acme.membership.apply", "acme.thing.get"];

let provider: TestProvider;
let folder: string;
let bench: Bench;
let run: Run;
/** What somebody who sets the wall clock has added to it. */
let shiftMs: number;
let bootId: string;
const caller = scriptedCaller();

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-clocks-"));
  shiftMs = 0;
  bootId = "boot-1";
  provider.answer(({ method, url }, response) => {
    if (url === "/v1/reports") return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/" });
    if (url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    if (url.endsWith("/result")) return answerJson(response, 200, { rows: 1 });
    if (url.startsWith("/v1/jobs/")) return answerJson(response, 200, { job_id: "job-1", state: "running" });
    answerJson(response, method === "POST" ? 201 : 200, { id: "7", role: "editor" });
  });
  bench = await start(manualTime());
  run = await bench.openApproved(caller, ACTIONS);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(base: ManualTime, logFolder = "audit"): Promise<Bench> {
  const clock = {
    wallMs: () => base.clock.wallMs() + shiftMs,
    bootMs: () => base.clock.bootMs(),
    bootId: () => bootId,
  };
  return startBench(consequentialPack(provider.origin), {
    folder,
    logFolder,
    time: { ...base, clock },
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
}

async function preview(): Promise<JsonObject> {
  const input = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
  const done = await bench.gateway.startPlan(caller, run.id, { action: "acme.membership.apply", input }).done;
  return (done as { readonly plan?: JsonObject }).plan ?? {};
}

for (const jump of [-12 * HOUR, 12 * HOUR]) {
  const which = jump < 0 ? "back" : "forward";

  test(`the wall clock set ${which} by hours ends no run, plan, question or poll, and starts none`, async () => {
    const asked = bench.gateway.startCall(caller, run.id, { action: "acme.report.create", input: { account: "a1" } });
    const { operation_id } = await asked.done;
    const operation = bench.gateway.operations.get(operation_id as OperationId);
    const plan = await preview();
    const before = operation.checks;
    shiftMs = jump;
    await bench.time.advance(500);
    assert.equal(operation.checks, before, "no poll comes early");
    assert.equal(run.state, "open");
    const executing = bench.gateway.startExecution(
      caller,
      idOf(plan, "plan_id") as PlanId,
      String(plan["expected_revision"]),
    );
    const card = await bench.waiting();
    await bench.time.advance(1_000);
    assert.equal(bench.gateway.desk.find(card.approvalId)?.state, "pending", "the question stands");
    await bench.approve();
    assert.equal((await executing.done).outcome, "success");
    // The next poll comes when it was due, and the run ends when its own time is over: time goes so far, and then stands still
    // until what came of it is written down, however long that takes.
    await bench.time.advance(10_000);
    await untilDone(bench.time, 0, () => operation.checks > before);
    await bench.time.advance(580_000 - bench.time.clock.bootMs());
    assert.equal(run.state, "open");
    await bench.time.advance(699_000 - bench.time.clock.bootMs());
    await untilDone(bench.time, 0, () => run.state === "ended");
  });

  test(`the wall clock set ${which} by hours neither ends a lease nor keeps it`, async () => {
    const asked = bench.gateway.startCall(caller, run.id, { action: "acme.report.create", input: { account: "a1" } });
    const { operation_id } = await asked.done;
    const mine = bench.gateway.operations.get(operation_id as OperationId);
    await bench.time.advance(4_000);
    await untilDone(bench.time, 0, () => mine.checks > 0);
    learn(mine, { kind: "look_again", at: null });
    shiftMs = jump;
    const other = await start(bench.time, "other");
    shiftMs = jump;
    try {
      const theirs = other.gateway.operations.get(mine.id);
      await bench.time.advance(20_000);
      assert.equal(theirs.lease?.owner, "audit", "the lease stands whatever the wall says");
      await untilDone(bench.time, 5_000, () => theirs.lease?.owner === "other");
      assert.ok((mine.lease?.expires_boot_ms ?? 0) <= bench.time.clock.bootMs(), "it ended when its own time was over");
    } finally {
      await other.close();
    }
  });

  test(`a ticket's time is its own when the wall clock is set ${which}`, async () => {
    const nowMs = bench.time.clock.wallMs();
    const context = {
      ticket_ref: "jira:OPS-17",
      allowed_targets: [`${provider.origin}/v1/things/7`],
      allowed_operations: ["acme.thing.get"],
      expires_at: isoTime(nowMs + 120_000),
      issued_for_run: run.id,
      issuer: "ada",
      issued_at: isoTime(nowMs),
      observed_state: "in progress",
    };
    const signed = await signContext(context, { keyId: "k1", key: operatorKeys.privateKey });
    const { expiresBootMs } = await bench.gateway.attachTicket(run.id, signed);
    shiftMs = jump;
    await bench.time.advance(1_000);
    assert.equal(bench.gateway.ticketOf(run.id).evidence?.expiresBootMs, expiresBootMs);
    assert.ok(expiresBootMs > bench.time.clock.bootMs());
  });
}

test("a suspend counts: what it outlasts is over, and nothing is sent on waking", async () => {
  const asked = bench.gateway.startCall(caller, run.id, { action: "acme.report.create", input: { account: "a1" } });
  const { operation_id } = await asked.done;
  const plan = await preview();
  const operation = bench.gateway.operations.get(operation_id as OperationId);
  const sent = bench.sent.length;
  const leased = operation.lease?.expires_boot_ms ?? 0;
  await bench.time.advance(HOUR);
  await untilDone(bench.time, 1_000, () => run.state === "ended");
  assert.ok(leased < bench.time.clock.bootMs(), "its lease is over, and was taken anew by whoever reads");
  assert.ok(bench.sent.length - sent <= 14, "within the operation's allowance");
  const { plan_id, expected_revision } = plan;
  const late = bench.gateway.startExecution(caller, String(plan_id) as PlanId, String(expected_revision));
  await assert.rejects(late.done);
  assert.equal(bench.sent.filter((line) => line.endsWith("/memberships")).length, 0);
});

test("another boot ends the run, and a lease of another boot holds for as long as one lasts, whatever the wall says", async () => {
  const asked = bench.gateway.startCall(caller, run.id, { action: "acme.report.create", input: { account: "a1" } });
  const { operation_id } = await asked.done;
  bootId = "boot-2";
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id: "7" } });
  await assert.rejects(call.done, denies("run_deadline_exhausted"));
  await bench.abandon();
  bench = await start(manualTime(), "other");
  const operation = bench.gateway.operations.get(operation_id as OperationId);
  shiftMs = 24 * HOUR;
  await bench.time.advance(30_000);
  assert.equal(operation.lease?.owner, "audit", "whoever sets the wall clock ends nobody's lease");
  shiftMs = -24 * HOUR;
  await untilDone(bench.time, 1_000, () => operation.lease?.owner === "other");
});

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Run } from "../src/gateway/run/run.ts";
import type { Step } from "../src/gateway/steps.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId, PlanId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack, previewBody } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Which plan is used up by an execution that did not go well, and which is not; and a job that was never begun. */
let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
/** Whether the log has no room for what would be sent. */
let full: boolean;
let steps: Step[];
/** What the provider answers to executions, one after the other; the last one from then on. */
let answers: (readonly [number, unknown])[];

const INPUT = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
const ACTIONS = ["acme.membership.plan", "acme.membership.apply"];
const DONE = [200, { mode: "executed", plan_id: "pln-remote-1" }] as const;

beforeEach(async () => {
  provider = await startProvider();
  full = false;
  steps = [];
  answers = [DONE];
  provider.answer(({ method, url }, response) => {
    if (url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    if (method === "GET") return answerJson(response, 200, { ...INPUT, revision: "r8" });
    return answerJson(response, ...((answers.length > 1 ? answers.shift() : answers[0]) ?? DONE));
  });
  await startGateway();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function startGateway(change = (pack: string): string => pack, ...more: readonly string[]): Promise<void> {
  bench = await startBench(change(consequentialPack(provider.origin)), {
    steps: { before: (step) => void steps.push(step), after: () => undefined },
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      async append(events) {
        if (full && events.some(({ event_type }) => event_type === "call_begun"))
          throw new Denied("log_backlogged", "full");
        return sink.append(events);
      },
    }),
  });
  caller = scriptedCaller();
  run = await bench.openApproved(caller, [...ACTIONS, ...more]);
}

async function preview(action = "acme.membership.apply", input: JsonObject = INPUT): Promise<PlanId> {
  const { plan } = await bench.gateway.startPlan(caller, run.id, { action, input }).done;
  return plan?.["plan_id"] as PlanId;
}

/** Carried out once a person has agreed, however often that is tried. */
async function execute(planId: PlanId): Promise<CallResult> {
  const { done } = bench.gateway.startExecution(caller, planId, "r7");
  let settled = false;
  done.catch(() => undefined).finally(() => (settled = true));
  await untilDone(bench.time, 0, () => settled || bench.gateway.desk.list().length > 0);
  if (!settled) await bench.approve();
  await untilDone(bench.time, 500, () => settled);
  return done;
}

const sent = (): number => provider.received.filter(({ url }) => url === "/memberships").length;

test("a plan whose execution the log had no room for is as unused as before", async () => {
  const planId = await preview();
  full = true;
  await assert.rejects(execute(planId), denies("log_backlogged"));
  assert.equal(sent(), 0);
  full = false;
  assert.equal((await execute(planId)).outcome, "success");
  await assert.rejects(execute(planId), denies("plan_used"));
});

test("a job whose creation the log had no room for is none, and can be made once there is", async () => {
  const { time, gateway } = bench;
  const making = await bench.openApproved(caller, ["acme.report.create"]);
  const create = async (): Promise<CallResult> => {
    const { done } = gateway.startCall(caller, making.id, { action: "acme.report.create", input: { account: "a1" } });
    let settled = false;
    done.catch(() => undefined).finally(() => (settled = true));
    await untilDone(time, 0, () => settled);
    return done;
  };
  full = true;
  await assert.rejects(create(), denies("log_backlogged"));
  assert.deepEqual(bench.eventsOf("operation_transition"), []);
  full = false;
  answers = [[202, { job_id: "job-1", state: "queued", status_url: "/v1/jobs/job-1" }]];
  const { operation_id } = await create();
  assert.equal(gateway.operations.get(operation_id as OperationId).remoteJobId, "job-1");
});

test("a plan that is stale once an earlier try may have carried it out is unknown, and found out about by what was planned", async () => {
  answers = [
    [503, {}],
    [409, { code: "plan_stale", changed: ["projects/p1"] }],
  ];
  const planId = await preview();
  const { outcome, response, operation_id } = await execute(planId);
  assert.deepEqual([outcome, response?.status, sent()], ["unknown", 409, 2]);
  assert.deepEqual(bench.gateway.operations.get(operation_id as OperationId).input, INPUT);
  assert.deepEqual(bench.eventsOf("plan_rejected"), []);
  await untilDone(bench.time, 500, () => bench.rows("operations", "succeeded").length === 1);
  await assert.rejects(execute(planId), denies("plan_used"));
});

test("a promotion that needs a plan is carried out by it, and kept on record like any other", async () => {
  await bench.close();
  const path = "request: { method: POST, path: /v1/deployments/promote, body: application/json }\n";
  const own = `    needs: { plan: deployment.plan }
    ${path}    plan: { id: { in: body, as: plan_id }, revision: { in: body, as: expected_revision } }
    confirm: membership.get
`;
  const input = `    input:
      environment: { in: body, enum: [staging, production] }
      release: { in: body, type: string, maxLength: 128 }
`;
  const planned = `  deployment.plan:
    effect: preview
    ${path.replace("/promote", "/plan")}${input}`;
  await startGateway(
    (pack) =>
      pack.replace(`    ${path}${input}`, own).replace("  deployment.promote:\n", `${planned}  deployment.promote:\n`),
    "acme.deployment.plan",
    "acme.deployment.promote",
  );
  const made = { deployment_id: "dep-2", environment: "staging", release_id: "r1", created_target_generation: 2 };
  answers = [[201, { ...made, prior_release_id: "r0", reversibility: "reversible_at_application_level" }]];
  await execute(await preview());
  const of = (errand: string) => steps.filter((step) => step === `${errand}.intent`).length;
  assert.deepEqual([of("execute"), of("promote"), bench.rows("deployments", "current")], [1, 0, []]);
  const planId = await preview("acme.deployment.promote", { environment: "staging", release: "r1" });
  assert.equal((await execute(planId)).outcome, "success");
  assert.deepEqual([of("execute"), of("promote"), bench.rows("deployments", "current").length], [1, 1, 1]);
});

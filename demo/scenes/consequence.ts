import type { JsonObject } from "../../src/kernel/json.ts";
import {
  type Actor,
  answerOf,
  approveNext,
  call,
  expect,
  openRun,
  type Reply,
  type Scene,
  startActor,
} from "../scene.ts";
import type { Stage } from "../stage.ts";

export const stalePlan: Scene = {
  name: "stale_plan",
  title: "Preview, then execute; what changed in between is not executed",
  async play(stage, tell) {
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "give grace and linus a role", [
      ...[
        "reference.project.get",
        "reference.membership.plan",
        "reference.membership.apply",
        "reference.membership.get",
      ],
    ]);
    const revision = String(
      answerOf(await call(actor, run, "reference.project.get", { project_id: "borealis" }))["revision"],
    );
    const preview = (subject_id: string): Promise<JsonObject> => {
      const input = { project_id: "borealis", subject_id, role: "viewer", if_match: revision };
      return previewOf(actor, run, "reference.membership.plan", input);
    };
    const [first, second] = [await preview("grace"), await preview("linus")];
    tell.say(
      "Two previews of the same state. The first is executed; its card shows what the provider said would change.",
    );
    const done = await execute(stage, actor, first, () => approveNext(stage, tell));
    expect(
      done.body["outcome"] === "success" && done.body["confirmed"] === true,
      "the first plan should be done and confirmed",
      done.body,
    );
    tell.say("Done, and confirmed by a later read. The second was made before that, so it is stale:");
    const stale = await execute(stage, actor, second, async () => {
      await approveNext(stage, tell);
    });
    expect(JSON.stringify(stale.body).includes("plan_stale"), "the second plan should be stale", stale.body);
    tell.show([`plan_stale: ${String(stale.body["message"] ?? "the provider answers 409")}`]);
    actor.player.stop();
    await actor.player.ended;
  },
};

async function previewOf(actor: Actor, run: string, action: string, input: JsonObject): Promise<JsonObject> {
  const body = { action, input };
  const reply = await actor.ask({ method: "POST", path: `/v1/runs/${run}/plans`, body, wait: 60 });
  const plan = reply.body["plan"];
  expect(typeof plan === "object" && plan !== null, "the preview should be stored as a plan", reply.body);
  return plan as JsonObject;
}

/** Executes a plan by its identifier and revision; a card is answered when one comes before the result does. */
async function execute(stage: Stage, actor: Actor, plan: JsonObject, decide: () => Promise<unknown>): Promise<Reply> {
  const expected_revision = String(plan["expected_revision"] ?? plan["revision"]);
  actor.send({
    method: "POST",
    path: `/v1/plans/${String(plan["plan_id"])}/execute`,
    body: { expected_revision },
    wait: 60,
  });
  const reply = actor.answer();
  let answered = false;
  void reply.then(() => {
    answered = true;
  });
  while (!answered) {
    if ((await stage.operator.approvals()).length > 0) await decide();
    await stage.sleep.sleep(50);
  }
  return reply;
}

const RELEASES = ["1", "2"].map((digit) => `sha256:${digit.repeat(64)}`);

export const staleRollback: Scene = {
  name: "stale_rollback",
  title: "A rollback is refused once something newer is there",
  async play(stage, tell) {
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "ship two releases and undo the first", [
      ...[
        "reference.release.record",
        "reference.deployment.plan",
        "reference.deployment.promote",
        "reference.environment.get",
        "reference.deployment.rollback",
      ],
    ]);
    const deployments: string[] = [];
    for (const artifact of RELEASES) {
      const input = { operation_id: `demo-${artifact.slice(7, 11)}`, service: "web", artifact, environment: "staging" };
      const recorded = await call(actor, run, "reference.release.record", input);
      expect(recorded.body["outcome"] === "success", "the release should be recorded", recorded.body);
      const release = String(answerOf(recorded)["release_id"]);
      const plan = await previewOf(actor, run, "reference.deployment.plan", { environment: "staging", release });
      const promoted = await execute(stage, actor, plan, () => approveNext(stage, tell));
      expect(promoted.body["outcome"] === "success", "the release should be promoted", promoted.body);
      deployments.push(String(answerOf(promoted)["deployment_id"]));
    }
    const input = { origin_deployment_id: String(deployments[0]), reason: "it burns" };
    const { body } = await call(actor, run, "reference.deployment.rollback", input);
    expect(body["code"] === "stale_rollback", "the rollback of the first should be refused", body);
    tell.say("Two releases went out. Undoing the first would now undo the second as well, so it is refused:");
    tell.show([`${String(body["code"])}: ${String(body["message"])}`]);
    actor.player.stop();
    await actor.player.ended;
  },
};

const REPORT = { account: "a1", format: "csv", range: { start: "2026-01-01", end: "2026-01-31" } };
const REPORT_ACTIONS = [
  "reference.report.create",
  "reference.report.status",
  "reference.report.result",
  "reference.report.cancel",
  "reference.operation.by_client_id",
];

export const lostAnswer: Scene = {
  name: "lost_answer",
  title: "An answer that never came: unknown, then found out",
  async play(stage, tell) {
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "make the January report", REPORT_ACTIONS);
    await stage.arm("timeout_after_commit", "POST /v1/reports");
    const { body } = await call(actor, run, "reference.report.create", REPORT);
    expect(
      body["outcome"] === "unknown" && typeof body["operation_id"] === "string",
      "the outcome should be unknown",
      body,
    );
    tell.say(
      "The provider committed and then went silent. That is neither success nor failure, and is not sent again:",
    );
    tell.show([`outcome: ${String(body["outcome"])}`, String(body["guidance"])]);
    const again = await call(actor, run, "reference.report.create", REPORT);
    expect(
      again.body["code"] === "outcome_unsettled" && again.body["operation_id"] === body["operation_id"],
      "the repeat should be answered with the open operation",
      again.body,
    );
    tell.say(
      "The agent tries the same call again. It is answered with the one that is open, and nothing is sent twice:",
    );
    tell.show([`${String(again.body["code"])}: ${String(again.body["operation_id"])}`]);
    const found = await actor.ask({ method: "POST", path: `/v1/operations/${String(body["operation_id"])}/reconcile` });
    const state = String(found.body["state"]);
    expect(
      found.status === 200 && ["accepted", "running", "succeeded"].includes(state),
      "the read should find the work",
      found.body,
    );
    tell.say(`A defined read, by the name that went out with it, finds the one report that was made. It is ${state}.`);
    actor.player.stop();
    await actor.player.ended;
  },
};

export const lateCancel: Scene = {
  name: "late_cancel",
  title: "Cancelling is a request; it can come too late",
  async play(stage, tell) {
    const actor = await startActor(stage);
    const run = await openRun(stage, tell, actor, "make a report, perhaps", REPORT_ACTIONS);
    const made = await call(actor, run, "reference.report.create", { ...REPORT, account: "a2" });
    const operation = String(made.body["operation_id"]);
    expect(made.status === 200 && operation.startsWith("op_"), "the job should be tracked", made.body);
    await stage.arm("cancel_too_late", "DELETE /jobs/{job_id}");
    const asked = await actor.ask({
      method: "POST",
      path: `/v1/operations/${operation}/cancel`,
      body: { reason: "changed my mind" },
      wait: 60,
    });
    expect(asked.status === 200, "cancelling should be asked for", asked.body);
    const { body } = await actor.ask({ path: `/v1/operations/${operation}`, wait: 45 });
    expect(body["state"] === "succeeded", "the job should have succeeded all the same", body);
    tell.say(
      "The agent asked for it to stop. The provider was done by then, and the record says what happened, not what was wished:",
    );
    tell.show([`operation ${operation}: ${String(body["state"])}`]);
    actor.player.stop();
    await actor.player.ended;
  },
};

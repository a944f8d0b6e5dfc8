import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  codeOf,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  type Started,
  start,
  until,
} from "./support/home.ts";
import { idIn, idOf } from "./support/reply.ts";

const release = (number: number): string =>
  `sha256:${createHash("sha256").update(`reference release ${number}`).digest("hex")}`;

describe("consequential actions on the reference provider, with the real programs", asUser, () => {
  let home: Home;
  let reference: Started;
  let gateway: Gateway;
  let agent: Plane;

  before(async () => {
    home = await new Home(makeFolder()).init();
    const file = join(dirname(home.folder), "reference.db");
    reference = start([GW, "reference", "--port", "0", "--json", "--file", file]);
    const said = await until("the provider answers", async () => reference.out().includes("\n") && reference.out());
    const { origin, token } = JSON.parse(String(said)) as { readonly origin: string; readonly token: string };
    const where = ["credential", "add", "reference", "--kind", "bearer", "--origin", origin];
    await home.must(where, { input: token });
    const pack = readFileSync(join(dirname(import.meta.dirname), "packs", "reference.yaml"), "utf8");
    await home.trustPack("reference", pack.replace("http://127.0.0.1:7411", origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await reference?.end();
  });

  async function approveNext(): Promise<Members> {
    const [card] = await home.approvals();
    assert.ok(card !== undefined);
    await home.approve(idOf(card, "approval_id"));
    return card;
  }

  async function call(run: string, action: string, input: Members): Promise<Members> {
    const body = { action: `reference.${action}`, input };
    const reply = await agent.ask("POST", `/v1/runs/${run}/calls`, body, { prefer: "wait=20" });
    return { status: reply.status, ...reply.body };
  }

  async function promote(run: string, input: Members): Promise<Members> {
    const body = { action: "reference.deployment.promote", input };
    const { body: previewed } = await agent.ask("POST", `/v1/runs/${run}/plans`, body, { prefer: "wait=20" });
    const plan = previewed["plan"] as Members;
    assert.equal((plan["effects"] as readonly Members[])[0]?.["total"], 1);
    const expected_revision = String(plan["expected_revision"]);
    const path = `/v1/plans/${idOf(plan, "plan_id")}/execute`;
    const reply = await agent.ask("POST", path, { expected_revision }, { prefer: "wait=20" });
    return { status: reply.status, ...reply.body };
  }

  test("a preview and what it is for are asked for with gw plan, as gw actions and gw call say", async () => {
    for (const action of ["reference.membership.plan", "reference.membership.apply"]) {
      const { out } = await home.run(["actions", action]);
      assert.match(out, new RegExp(`gw plan ${action} project_id=TEXT .*role=viewer`));
      assert.doesNotMatch(out, /gw call/);
    }
    const words = ["project_id=atlas", "subject_id=ada", "role=editor", "if_match=r1"];
    const called = await home.run(["call", "reference.membership.plan", ...words]);
    assert.deepEqual([called.code, codeOf(called)], [1, "action_not_permitted"]);
    assert.match(called.err, /gw plan reference\.membership\.plan/);
    const planned = await home.run(["plan", "reference.project.get", "project_id=atlas"]);
    assert.deepEqual([planned.code, codeOf(planned)], [1, "plan_required"]);
    assert.match(planned.err, /gw call reference\.project\.get/);
    const misfit = await home.run(["plan", "reference.membership.plan", "role=king"]);
    assert.deepEqual([misfit.code, codeOf(misfit)], [1, "schema_violation"]);
    assert.match(misfit.err, /gw actions reference\.membership\.plan/);
  });

  test("gw plan --execute previews, asks with the diff, executes the plan alone and confirms it", async () => {
    const words = ["project_id=atlas", "subject_id=ada", "role=editor", "if_match=r1"];
    const planning = home.run(["plan", "reference.membership.apply", ...words, "--execute", "--json"]);
    await approveNext();
    const shown = await until("the card of the plan", async () =>
      (await home.approvals()).find(({ mode }) => mode === "each_use"),
    );
    const card = shown["card"] as Members;
    const effects = (card["plan"] as Members)["effects"] as readonly Members[];
    assert.equal(effects[0]?.["relation"], "direct");
    await home.approve(idOf(shown, "approval_id"));
    const done = await planning;
    assert.equal(done.code, 0, done.err);
    const result = JSON.parse(done.out) as Members;
    assert.deepEqual([result["outcome"], result["confirmed"]], ["success", true]);
  });

  test("a preview on a revision that is gone is not executable", async () => {
    const words = ["project_id=atlas", "subject_id=grace", "role=viewer", "if_match=r1"];
    const planning = home.run(["plan", "reference.membership.apply", ...words]);
    await approveNext();
    const done = await planning;
    assert.equal(done.code, 1, done.err);
    assert.match(done.out, /version_conflict/);
  });

  test("a deployment is rolled back from its record, and refused after a newer release", async () => {
    const actions = ["plan", "promote", "rollback"].map((name) => `reference.deployment.${name}`);
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "ship", actions });
    const run = idIn(opened, "run_id");
    await home.approve(idIn(opened, "approval_id"));
    const target = { environment: "staging" };
    const direct = await call(run, "deployment.promote", {});
    assert.equal(direct["code"], "plan_required", "a promotion is previewed before it is made");
    await promote(run, { ...target, release: release(1) });
    const second = await promote(run, { ...target, release: release(2) });
    const body = (second["response"] as Members)["body"] as Members;
    assert.equal(body["capability"], undefined);
    assert.equal(second["confirmed"], true, "the read shows the release that the receipt names");
    const undo = { origin_deployment_id: String(body["deployment_id"]), reason: "it burns" };
    const asked = agent.ask(
      "POST",
      `/v1/runs/${run}/calls`,
      { action: "reference.deployment.rollback", input: undo },
      { prefer: "wait=20" },
    );
    if (body["reversibility"] === "needing_repair") await approveNext();
    const undone = await asked;
    assert.equal(undone.body["outcome"], "success", JSON.stringify(undone.body));
    const again = await call(run, "deployment.rollback", undo);
    assert.deepEqual([again["status"], again["error"]], [409, "stale_rollback"]);
  });

  test("a report is tracked until its result is there, and gw operation shows its history", async () => {
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "report", actions: ["reference.report.create"] });
    const run = idIn(opened, "run_id");
    await home.approve(idIn(opened, "approval_id"));
    const range = { start: "2026-01-01", end: "2026-01-31" };
    const made = await call(run, "report.create", { account: "a1", range, format: "csv" });
    assert.equal(made["outcome"], "unknown");
    const id = idOf(made, "operation_id");
    const ended = await agent.ask("GET", `/v1/operations/${id}`, undefined, { prefer: "wait=30" });
    assert.equal(ended.body["state"], "succeeded", JSON.stringify(ended.body));
    const shown = await home.must(["operation", "show", id]);
    assert.match(shown.out, /result_collecting -> succeeded/);
    const listed = JSON.parse((await home.must(["operation", "list", "--all", "--json"])).out) as readonly Members[];
    assert.ok(listed.some(({ operation_id }) => operation_id === id));
  });
});

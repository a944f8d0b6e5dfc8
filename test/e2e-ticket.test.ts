import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { asUser, type Gateway, Home, type Members, makeFolder, openPlane, type Plane } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

describe("a ticket from assignment to the log, with the real programs", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;
  let target: string;

  before(async () => {
    provider = await startProvider();
    target = `${provider.origin}/v1/projects/p1/roles`;
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack(
      "demo",
      `format: gw.pack/v1
pack: demo
provider: { origin: "${provider.origin}", credential: demo-token, auth: { scheme: bearer }, network: private }
actions:
  role.apply:
    effect: write
    needs: { ticket: true }
    request: { method: POST, path: "/v1/projects/{project_id}/roles", body: application/json }
    input:
      project_id: { in: path, type: string }
      role: { in: body, type: string }
`,
    );
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "roles", actions: ["demo.role.apply"] });
    run = String(opened.body["run_id"]);
    await home.approve(String(opened.body["approval_id"]));
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  const apply = (role = "viewer") =>
    agent.ask(
      "POST",
      `/v1/runs/${run}/calls`,
      { action: "demo.role.apply", input: { project_id: "p1", role } },
      { prefer: "wait=20" },
    );
  const issue = (...args: readonly string[]) =>
    home.operator(["ticket", "issue", run, "--operation", "demo.role.apply", ...args]);

  test("before it is issued the action is denied, and gw ticket show says so", async () => {
    const refused = await apply();
    assert.deepEqual([refused.status, refused.body["code"]], [403, "ticket_required"]);
    const shown = JSON.parse((await home.must(["ticket", "show", run, "--json"])).out) as Members;
    assert.deepEqual([shown["run_id"], shown["ticket"]], [run, null]);
    assert.match((await home.must(["ticket", "show", run])).out, /No work context is attached/);
  });

  test("what cannot be a ticket is not signed", async () => {
    const done = await issue("--target", `${provider.origin}/*`, "--ref", "jira:OPS-1");
    assert.deepEqual([done.code, done.err.includes("ticket_invalid")], [1, true]);
    assert.equal((await home.operator(["ticket", "issue", run, "--ref", "jira:OPS-1"])).code, 2);
    assert.equal((await apply()).body["code"], "ticket_required");
  });

  test("gw ticket issue opens exactly what it names, never longer than the run", async () => {
    const done = await issue(
      "--ref",
      "jira:OPS-17",
      "--target",
      `${target}?role=viewer`,
      "--minutes",
      "1440",
      "--json",
    );
    assert.equal(done.code, 0, done.err);
    const view = JSON.parse(done.out) as Members;
    const ticket = view["ticket"] as Members;
    assert.deepEqual([ticket["ticket_ref"], ticket["expires_at"]], ["jira:OPS-17", view["deadline_at"]]);
    assert.equal((await apply()).body["outcome"], "success");
    assert.equal((await apply("owner")).body["code"], "ticket_scope_mismatch");
    assert.equal(provider.received.length, 1);
  });

  test("an emergency needs no ticket and says so in the log, beside the intent that was written before the send", async () => {
    const done = await issue("--emergency", "--reason", "database down", "--target", target);
    assert.equal(done.code, 0, done.err);
    assert.match(done.out, /EMERGENCY +database down/);
    assert.equal((await apply("owner")).body["outcome"], "success");
    const [normal, emergency] = await home.events("action.intent");
    assert.ok(normal !== undefined && emergency !== undefined);
    assert.equal((normal["ticket"] as Members)["reference"], "OPS-17");
    assert.equal(normal["emergency"], undefined);
    assert.equal((emergency["emergency"] as Members)["reason"], "database down");
    const observed = await home.events("ticket_observed");
    assert.deepEqual(
      observed.map(({ accepted }) => accepted),
      [true, true],
    );
  });

  test("a file that no issuer signed is not attached", async () => {
    const done = await home.operator(["ticket", "attach", run, home.passphraseFile]);
    assert.deepEqual([done.code, done.err.includes("ticket_signature_invalid")], [1, true]);
    assert.equal((await home.operator(["ticket", "show", "run_00000000000000000000000000"])).code, 1);
  });
});

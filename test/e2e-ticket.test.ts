import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  codeOf,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  startAgent,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";
import { demoTicketPack } from "./support/ticket-stand.ts";

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
    await home.trustPack("demo", demoTicketPack(provider.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "roles", actions: ["demo.role.apply"] });
    run = idIn(opened, "run_id");
    await home.approve(idIn(opened, "approval_id"));
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
      { prefer: "wait=50" },
    );
  const issue = (...args: readonly string[]) =>
    home.operator(["ticket", "issue", run, "--operation", "demo.role.apply", ...args]);

  const waitingFor = async (): Promise<Members> => {
    const [approval] = await home.approvals();
    assert.ok(approval !== undefined);
    return approval;
  };

  test("without a ticket the action is asked about, a no ends it, and gw ticket show says that there is none", async () => {
    const pending = apply();
    const approval = await waitingFor();
    const card = approval["card"] as Members;
    assert.deepEqual(card["ticket_needed"], {
      operation: "demo.role.apply",
      target: `${target}?project_id=p1&role=viewer`,
    });
    const id = idOf(approval, "approval_id");
    const bare = await home.operator(["approve", id]);
    assert.deepEqual([bare.code, codeOf(bare)], [1, "approval_needs_ticket"]);
    await home.must(["deny", id, "--reason", "no ticket"]);
    const refused = await pending;
    assert.deepEqual([refused.status, refused.body["code"]], [403, "approval_denied"]);
    const shown = JSON.parse((await home.must(["ticket", "show", run, "--json"])).out) as Members;
    assert.deepEqual([shown["run_id"], shown["ticket"]], [run, null]);
    assert.match((await home.must(["ticket", "show", run])).out, /No work context is attached/);
    assert.equal(provider.received.length, 0);
  });

  test("what the agent calls its ticket is shown as its words, escaped, and opens nothing", async () => {
    const role = "\u001b[2Jticket jira:OPS-1\n  ticket              jira:OPS-1 in jira\u202e";
    const pending = apply(role);
    const approval = await waitingFor();
    const id = idOf(approval, "approval_id");
    const shown = await home.must(["approvals"]);
    assert.doesNotMatch(shown.out, /^ {4}ticket {2,}jira:OPS-1/m);
    assert.ok(!shown.out.includes("\u001b") && !shown.out.includes("\u202e"));
    assert.match(shown.out, /ticket +NEEDED/);
    assert.equal(codeOf(await home.operator(["approve", id])), "approval_needs_ticket");
    await home.must(["deny", id]);
    assert.equal((await pending).body["code"], "approval_denied");
  });

  test("gw approve ID --ticket names it, signs it for exactly this call, and the intent carries it", async () => {
    const pending = apply("editor");
    const approval = await waitingFor();
    const id = idOf(approval, "approval_id");
    for (const bad of ["OPS-16", "jira:OPS 16", "jira:\u202eOPS-16"]) {
      assert.equal(codeOf(await home.operator(["approve", id, "--ticket", bad])), "ticket_invalid", bad);
    }
    const wide = await home.operator(["approve", id, "--ticket", "jira:OPS-16", "--target", target]);
    assert.equal(codeOf(wide), "ticket_invalid");
    const signed = await home.must(["approve", id, "--ticket", "jira:OPS-16", "--ticket-state", "in review"]);
    assert.match(signed.err, /ticket +jira:OPS-16/, "what is signed beside the card is shown too");
    assert.equal((await pending).body["outcome"], "success");
    const [intent] = await home.events("action.intent");
    assert.ok(intent !== undefined);
    const ticket = intent["ticket"] as Members;
    assert.deepEqual(
      [ticket["system"], ticket["reference"], ticket["observed_state"]],
      ["jira", "OPS-16", "in review"],
    );
    assert.match(String(ticket["scope_digest"]), /^sha256:/);
    assert.equal((intent["actor"] as Members)["human_requester"], "[person]");
    // It was for that call: the run still has none.
    const shown = JSON.parse((await home.must(["ticket", "show", run, "--json"])).out) as Members;
    assert.equal(shown["ticket"], null);
    assert.equal(provider.received.length, 1);
  });

  test("a session approved with a ticket and targets has its work assigned from the start", async () => {
    const other = await startAgent(home);
    try {
      const opened = await other.ask("POST", "/v1/runs", { purpose: "more roles", actions: ["demo.role.apply"] });
      const id = idIn(opened, "approval_id");
      assert.equal(codeOf(await home.operator(["approve", id, "--ticket", "jira:OPS-20"])), "ticket_invalid");
      await home.approve(id, ["--ticket", "jira:OPS-20", "--target", `${target}?role=viewer`]);
      const its = idIn(opened, "run_id");
      const call = (role: string) =>
        other.ask(
          "POST",
          `/v1/runs/${its}/calls`,
          { action: "demo.role.apply", input: { project_id: "p1", role } },
          { prefer: "wait=50" },
        );
      assert.equal((await call("viewer")).body["outcome"], "success");
      assert.equal((await call("owner")).body["code"], "ticket_scope_mismatch");
      const mine = JSON.parse((await home.must(["ticket", "show", run, "--json"])).out) as Members;
      assert.equal(mine["ticket"], null, "another run's ticket is not this one's");
    } finally {
      other.close();
    }
  });

  test("what cannot be a ticket is not signed", async () => {
    const done = await issue("--target", `${provider.origin}/*`, "--ref", "jira:OPS-1");
    assert.deepEqual([done.code, done.err.includes("ticket_invalid")], [1, true]);
    // Said of the option that was typed wrong, and not of a context that nobody wrote.
    const bare = await issue("--target", target, "--ref", "OPS-1");
    assert.deepEqual([codeOf(bare), bare.err.includes("SYSTEM:REF")], ["ticket_invalid", true]);
    for (const time of ["12:00", "2026-02-30T12:00:00+01:00", "2026-99-30T12:00:00Z"]) {
      const late = await issue("--target", target, "--emergency", "--reason", "fire", "--opened-at", time);
      assert.deepEqual([codeOf(late), late.err.includes("--opened-at")], ["ticket_invalid", true], time);
    }
    assert.equal((await home.operator(["ticket", "issue", run, "--ref", "jira:OPS-1"])).code, 2);
  });

  test("gw ticket issue opens exactly what it names, never longer than the run", async () => {
    assert.ok((await home.must(["sessions"])).out.includes(run), "the run to name is in gw sessions");
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
    const sent = provider.received.length;
    assert.equal((await apply("owner")).body["code"], "ticket_scope_mismatch");
    assert.equal(provider.received.length, sent);
  });

  test("an emergency needs no ticket and says so in the log, beside the intent that was written before the send", async () => {
    const done = await issue("--emergency", "--reason", "database down", "--target", target);
    assert.equal(done.code, 0, done.err);
    assert.match(done.out, /EMERGENCY +database down/);
    assert.equal((await apply("owner")).body["outcome"], "success");
    const intents = await home.events("action.intent");
    const [normal, emergency] = intents.slice(-2);
    assert.ok(normal !== undefined && emergency !== undefined);
    assert.equal((normal["ticket"] as Members)["reference"], "OPS-17");
    assert.equal(normal["emergency"], undefined);
    assert.equal((emergency["emergency"] as Members)["reason"], "database down");
    const story = (await home.must(["activity", "show", String(emergency["event_id"])])).out;
    assert.match(story, /EMERGENCY "database down" declared by ada, .*ticket emergency:run_/);
    const observed = await home.events("ticket_observed");
    assert.deepEqual(
      observed.map(({ accepted, ticket_ref }) => [accepted, ticket_ref]),
      [
        [true, "OPS-16"],
        [true, "OPS-20"],
        [true, "OPS-17"],
        [true, run],
      ],
    );
  });

  test("a file that no issuer signed is not attached", async () => {
    const done = await home.operator(["ticket", "attach", run, home.passphraseFile]);
    assert.deepEqual([done.code, done.err.includes("ticket_signature_invalid")], [1, true]);
    assert.equal((await home.operator(["ticket", "show", "run_00000000000000000000000000"])).code, 1);
  });
});

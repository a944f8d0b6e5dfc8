import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { asUser, codeOf, type Gateway, Home, type Members, makeFolder, openPlane, type Plane } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";
import { demoTicketPack } from "./support/ticket-stand.ts";

describe("a ticket service of its own, asked by the real gateway over real sockets", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let tracker: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;
  /** What the tracker says of every ticket. */
  let ticket: Members = { key: "OPS-17", fields: { status: { name: "In Progress" } } };

  const serviceOptions = [
    ...["--action", "tracker.ticket.get", "--input", "key", "--reference-field", "/key"],
    ...["--state-field", "/fields/status/name", "--open", "In Progress", "--open", "Approved"],
  ];

  before(async () => {
    [provider, tracker] = [await startProvider(), await startProvider()];
    tracker.answer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(ticket));
    });
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.addCredential("tracker-token", tracker.origin);
    await home.trustPack("demo", demoTicketPack(provider.origin));
    await home.trustPack(
      "tracker",
      `format: gw.pack/v1
pack: tracker
provider: { origin: "${tracker.origin}", credential: tracker-token, auth: { scheme: bearer }, network: private }
actions:
  ticket.get:
    effect: read
    request: { method: GET, path: "/rest/tickets/{key}" }
    input:
      key: { in: path, type: string, maxLength: 64 }
  ticket.search:
    effect: read
    request: { method: GET, path: /rest/tickets }
    input:
      key: { in: query, type: string }
      project: { in: query, type: string }
  ticket.close:
    effect: write
    request: { method: POST, path: "/rest/tickets/{key}/close" }
    input:
      key: { in: path, type: string }
`,
    );
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "roles", actions: ["demo.role.apply"] });
    run = idIn(opened, "run_id");
    const target = `${provider.origin}/v1/projects/p1/roles`;
    await home.approve(idIn(opened, "approval_id"), ["--ticket", "tracker:OPS-17", "--target", target]);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
    await tracker?.close();
  });

  const add = (...args: readonly string[]) => home.operator(["ticket", "service", "add", ...args]);
  const apply = () =>
    agent.ask(
      "POST",
      `/v1/runs/${run}/calls`,
      { action: "demo.role.apply", input: { project_id: "p1", role: "viewer" } },
      { prefer: "wait=50" },
    );

  /** What the whole story of a call says that each request was. */
  const sortsOf = async (call: unknown) => {
    const shown = await home.must(["activity", "show", String(call), "--json"]);
    const { attempts } = JSON.parse(shown.out) as { readonly attempts: readonly Members[] };
    return attempts.map(({ action, sort }) => [action, sort]);
  };

  test("what could not look a ticket up is not signed into policy", async () => {
    const swap = (option: string, value: string) => {
      const options = [...serviceOptions];
      options[options.indexOf(option) + 1] = value;
      return options;
    };
    const bad: readonly (readonly string[])[] = [
      ["bad system", ...serviceOptions],
      ["tracker", ...swap("--action", "tracker.ticket.none")],
      ["tracker", ...swap("--action", "nopack.ticket.get")],
      ["tracker", ...swap("--action", "tracker.ticket.close")],
      ["tracker", ...swap("--action", "tracker.ticket.search")],
      ["tracker", ...swap("--action", "demo.role.apply")],
      ["tracker", ...swap("--action", "../../etc.passwd")],
      ["tracker", ...swap("--input", "id")],
      ["tracker", ...swap("--state-field", "fields.status")],
      ["tracker", ...swap("--open", "")],
    ];
    for (const args of bad) {
      const done = await add(...args);
      assert.deepEqual([done.code, codeOf(done)], [1, "ticket_service_invalid"], args.join(" "));
    }
    assert.deepEqual(JSON.parse((await home.run(["ticket", "service", "list", "--json"])).out), []);
    assert.equal((await apply()).body["outcome"], "success", "nothing is looked up yet");
    assert.equal(tracker.received.length, 0);
  });

  test("once an operator signed it, the running gateway asks the service before it sends, with its own credential", async () => {
    const done = await add("tracker", ...serviceOptions);
    assert.equal(done.code, 0, done.err);
    const [listed] = JSON.parse((await home.run(["ticket", "service", "list", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      [listed?.["system"], listed?.["action"], listed?.["open_states"]],
      ["tracker", "tracker.ticket.get", ["In Progress", "Approved"]],
    );
    assert.equal((await apply()).body["outcome"], "success");
    assert.deepEqual(
      tracker.received.map(({ method, url }) => `${method} ${url}`),
      ["GET /rest/tickets/OPS-17"],
    );
    const intent = (await home.events("action.intent")).at(-1);
    assert.ok(intent !== undefined);
    const seen = intent["ticket"] as Members;
    assert.deepEqual([seen["reference"], seen["observed_state"]], ["OPS-17", "In Progress"]);
    assert.equal((intent["ticket_lookup"] as Members)["action"], "tracker.ticket.get");
    assert.equal((intent["actor"] as Members)["human_requester"], "[person]");
    const calls = await home.activity(run);
    assert.ok(
      calls.some(({ action }) => action === "tracker.ticket.get"),
      "the read is in the journal as its own action",
    );
    assert.deepEqual(await sortsOf(intent["call_id"]), [
      ["tracker.ticket.get", "read"],
      ["demo.role.apply", "call"],
    ]);
    const { out } = await home.must(["activity", "show", String(intent["call_id"])]);
    assert.ok(!out.includes("(ANOTHER)"), out);
  });

  test("a closed ticket, one that is not the one asked for, and a service that fails stop the call", async () => {
    const sent = provider.received.length;
    ticket = { key: "OPS-17", fields: { status: { name: "Done\u001b[2J" } } };
    const closed = await apply();
    assert.deepEqual([closed.status, closed.body["code"]], [403, "ticket_not_open"]);
    const denied = (await home.events("call_denied")).at(-1);
    assert.deepEqual(await sortsOf(denied?.["call_id"]), [["tracker.ticket.get", "read"]], "the call went nowhere");
    assert.ok(!closed.text.includes("\\u001b"), "what the service wrote is escaped");
    ticket = { key: "OPS-18", fields: { status: { name: "In Progress" } } };
    assert.equal((await apply()).body["code"], "ticket_unconfirmed");
    ticket = { key: "OPS-17" };
    assert.equal((await apply()).body["code"], "ticket_unconfirmed");
    assert.equal(provider.received.length, sent);
    ticket = { key: "OPS-17", fields: { status: { name: "Approved" } } };
    assert.equal((await apply()).body["outcome"], "success");
  });

  test("a pack of the service that is no longer trusted confirms nothing, and without the service the signer's word counts again", async () => {
    const sent = provider.received.length;
    await home.must(["pack", "remove", "tracker"]);
    assert.equal((await apply()).body["code"], "ticket_unconfirmed");
    assert.equal(provider.received.length, sent);
    await home.must(["ticket", "service", "remove", "tracker"]);
    assert.equal((await apply()).body["outcome"], "success");
    assert.equal(codeOf(await home.operator(["ticket", "service", "remove", "tracker"])), "not_found");
  });
});

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Started,
  start,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

/** The real programs: an agent that repeats, a gateway that is killed, a person who decides. */
describe("what is unknown is never done twice", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let operation: string;
  const held: ServerResponse[] = [];
  const input = { name: "once" };

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    for (const response of held) response.destroy();
    await provider?.close();
  });

  test("the same call while the first is on its way, and after the gateway was killed, sends nothing", async () => {
    const run = await openRun(home, agent, ["demo.thing.make"], { attempts: 9, side_effects: 9 });
    provider.answer((_request, response) => void held.push(response));
    const pending = call(agent, run, "demo.thing.make", input);
    pending.catch(() => undefined);
    await until("the provider has the request", () => provider.received.length === 1);
    const second = await call(agent, run, "demo.thing.make", input);
    assert.deepEqual([second.status, second.body["code"]], [409, "outcome_unsettled"]);
    await gateway.end("SIGKILL");
    await assert.rejects(pending);
    agent.close();
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const later = await openRun(home, agent, ["demo.thing.make"], { attempts: 9, side_effects: 9 });
    const repeated = await call(agent, later, "demo.thing.make", input);
    assert.deepEqual([repeated.status, repeated.body["code"]], [409, "outcome_unsettled"]);
    operation = idIn(repeated, "operation_id");
    assert.match(operation, /^op_/);
    assert.equal(provider.received.length, 1);
  });

  test("gw call and gw mcp are answered with what is open as well, and send nothing", async () => {
    const approved = async (asking: Started, told: string): Promise<string> => {
      const [approval] = await home.approvals();
      await home.approve(idOf(approval, "approval_id"));
      await until(told, () => `${asking.out()}${asking.err()}`.includes(told));
      return `${asking.out()}${asking.err()}`;
    };
    const command = home.start(["call", "demo.thing.make", "name=once"]);
    assert.match(await approved(command, "outcome_unsettled"), new RegExp(operation));
    assert.equal((await command.exited).code, 1);
    const fixture = join(import.meta.dirname, "fixtures", "mcp-agent.ts");
    const order = JSON.stringify({ do: "call", name: "demo__thing-make", input });
    const client = start([process.execPath, fixture, "current", GW, home.folder], { input: `${order}\n` });
    assert.match(await approved(client, "structuredContent"), new RegExp(`outcome_unsettled.*${operation}`));
    await client.end("SIGKILL");
    assert.equal(provider.received.length, 1);
  });

  test("a person who approves the card about what is open lets it out once", async () => {
    provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
    const run = await openRun(home, agent, ["demo.thing.make"], { attempts: 9, side_effects: 9 });
    const body = { action: "demo.thing.make", input, repeat_of: operation };
    const asked = agent.ask("POST", `/v1/runs/${run}/calls`, body, { prefer: "wait=60" });
    const [card] = await until("the card is open", async () => {
      const found = await home.approvals();
      return found.length > 0 && found;
    });
    assert.ok(JSON.stringify(card).includes(operation));
    await home.approve(idOf(card, "approval_id"));
    const reply = await asked;
    assert.equal(reply.body["outcome"], "success", JSON.stringify(reply.body));
    assert.equal(provider.received.length, 2);
    const again = await call(agent, run, "demo.thing.make", input);
    assert.equal(again.body["code"], "outcome_unsettled", "the first is as open as it was");
  });

  test("an operator settles it under their signature, sees what is signed, and the journal tells it in words", async () => {
    const malformed = await home.operator(["operation", "settle", "nonsense", "--happened", "no", "--reason", "x"]);
    assert.equal(malformed.code, 1);
    const settled = await home.must([
      ...["operation", "settle", operation, "--happened", "no", "--reason", "not in the list of noon"],
      ...["--although", "the list is complete"],
    ]);
    assert.match(settled.err, /You sign exactly this:/);
    assert.match(settled.err, /happened: false/);
    const shown = JSON.parse((await home.must(["operation", "show", operation, "--json"])).out) as Members;
    assert.deepEqual([shown["state"], shown["settled"]], ["failed", true]);
    const [event] = await home.events("operation_settled");
    assert.deepEqual([event?.["happened"], event?.["reason"]], [false, "not in the list of noon"]);
    const activity = await home.must(["activity"]);
    assert.match(activity.out, /not in the list of noon/);
    const run = await openRun(home, agent, ["demo.thing.make"], { attempts: 9, side_effects: 9 });
    const free = await call(agent, run, "demo.thing.make", input);
    assert.equal(free.body["outcome"], "success", JSON.stringify(free.body));
    assert.equal((await home.verify()).code, 0);
  });
});

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

/** The gateway is killed while calls are at one step, started again, and the log and the state are asked what they know. */
describe("kill -9 of the gateway at each step of a call", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  const held: ServerResponse[] = [];
  let readable = false;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    readable = (await home.knows("audit")) && (await home.knows("activity"));
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    for (const response of held) response.destroy();
    await provider?.close();
  });

  async function killAndRestart(): Promise<void> {
    await gateway.end("SIGKILL");
    agent.close();
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  }

  /** What holds after every kill: the chain verifies, and nobody's approval outlives the process that took it. */
  async function assertSound(run: string): Promise<void> {
    const found = await agent.ask("GET", `/v1/runs/${run}`);
    assert.deepEqual([found.status, found.body["code"]], [404, "not_found"], "no session survives");
    assert.equal((await home.status())["sessions_live"], 0);
    assert.equal((await home.status())["approvals_pending"], 0);
    if (!readable) return;
    const verified = await home.verify();
    assert.equal(verified.code, 0, verified.out + verified.err);
  }

  test("gw call whose gateway goes away says that nobody knows here what became of it, and where to look", async () => {
    const { exited } = home.start(["call", "demo.thing.make", "name=cut"]);
    await until("the card is open", async () => (await home.status())["approvals_pending"] === 1);
    await killAndRestart();
    const done = await exited;
    assert.deepEqual([done.code, codeOf(done)], [3, "gateway_unreachable"]);
    assert.match(done.err, /not known here[\s\S]*gw activity/);
  });

  describe("three calls at once: one waits for a person, of a write and a read the provider has the request", () => {
    const runs = { asked: "", write: "", read: "" };
    let card = "";
    let lost: readonly Members[] = [];

    before(async () => {
      const budget = { attempts: 3, side_effects: 2 };
      runs.write = await openRun(home, agent, ["demo.thing.make"], budget);
      runs.read = await openRun(home, agent, ["demo.thing.get"], budget);
      const asked = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
      card = idIn(asked, "approval_id");
      runs.asked = idIn(asked, "run_id");
      provider.answer((_request, response) => void held.push(response));
      const pending = [
        call(agent, runs.asked, "demo.thing.get", { id: "open-card" }),
        call(agent, runs.write, "demo.thing.make", { name: "held" }),
        call(agent, runs.read, "demo.thing.get", { id: "held" }),
      ];
      for (const one of pending) one.catch(() => undefined);
      await until("the provider has both requests", () => provider.received.length >= 2);
      await until("the card is open", async () => (await home.status())["approvals_pending"] === 1);
      await killAndRestart();
      for (const one of pending) await assert.rejects(one);
    });

    test("while the card is open: the question is gone, nothing was sent", async () => {
      await assertSound(runs.asked);
      const late = await home.operator(["approve", card]);
      assert.equal(late.code, 1, "the old card cannot be approved any more");
      const sent = provider.received.map(({ method, url }) => `${method} ${url}`);
      assert.deepEqual(sent.sort(), ["GET /v1/things/held", "POST /v1/things"], "and a restart sends nothing again");
    });

    /** What the journal has of a call whose answer nobody got. */
    async function callsOf(run: string): Promise<readonly Members[]> {
      await assertSound(run);
      const ended = (await home.events("run_ended")).filter(({ run_id }) => run_id === run);
      assert.deepEqual(
        ended.map(({ reason }) => reason),
        ["gateway_restarted"],
        "the run is over with what it spent",
      );
      return home.activity(run);
    }

    test("between the send and the answer: the intent is unknown, and no budget comes back", async () => {
      lost = await callsOf(runs.write);
      assert.deepEqual(outcomesOf(lost), ["unknown"]);
    });

    test("a read between the send and the answer: unknown as well, without a row of its own", async () => {
      assert.deepEqual(outcomesOf(await callsOf(runs.read)), ["unknown"]);
    });

    test("a call whose outcome is unknown is one line of the Activity journal", () => {
      assert.equal(lost.length, 1);
    });
  });

  test("around the answer, again and again: every intent has an outcome, and none is called a failure", async (t) => {
    for (let round = 0; round < 2; round++) {
      const run = await openRun(home, agent, ["demo.thing.make"], { attempts: 40, side_effects: 40 });
      let answered = 0;
      const enough = 2 + round * 7;
      provider.answer((_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end("{}");
        // In the very moment of an answer, so that its completion is on its way to the disk or not yet.
        if (++answered === enough) process.kill(gateway.pid, "SIGKILL");
      });
      const before = provider.received.length;
      const names = Array.from({ length: 20 }, (_, index) => `r${round}-${index}`);
      const replies = await Promise.allSettled(names.map((name) => call(agent, run, "demo.thing.make", { name })));
      await killAndRestart();
      await assertSound(run);
      if (!readable) return t.skip("gw activity is not there yet: the rest held");
      const outcomes = outcomesOf(await home.activity(run));
      const sent = provider.received.length - before;
      assert.ok(outcomes.length >= sent, `${sent} reached the provider, ${outcomes.length} are in the log`);
      const told = replies.filter((reply) => reply.status === "fulfilled" && reply.value.body["outcome"] === "success");
      const succeeded = outcomes.filter((outcome) => outcome === "succeeded");
      assert.ok(succeeded.length >= told.length, "what the agent was told is in the log");
      assert.deepEqual(
        outcomes.filter((outcome) => outcome !== "succeeded" && outcome !== "unknown"),
        [],
      );
    }
  });
});

/** By attempt: how the journal shows one is tested on its own. */
function outcomesOf(calls: readonly Members[]): readonly string[] {
  return [...new Map(calls.map((one) => [String(one["attempt_id"]), String(one["outcome"])])).values()];
}

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
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

/** Each test kills the gateway at one step of a call, starts it again, and asks the log and the state what they know. */
describe("kill -9 of the gateway at each step of a call", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  const held: ServerResponse[] = [];
  let readable = false;
  let lost: readonly Members[] | undefined;

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

  test("while the card is open: the question is gone, nothing was sent", async () => {
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
    const run = idIn(asked, "run_id");
    const pending = call(agent, run, "demo.thing.get", { id: "open-card" });
    pending.catch(() => undefined);
    await until("the card is open", async () => (await home.status())["approvals_pending"] === 1);
    await killAndRestart();
    await assert.rejects(pending);
    await assertSound(run);
    const late = await home.operator(["approve", idIn(asked, "approval_id")]);
    assert.equal(late.code, 1, "the old card cannot be approved any more");
    assert.equal(provider.received.length, 0);
  });

  /** The provider has the request and does not answer; the gateway is killed and started again. */
  async function loseAnswer(action: string, input: Members): Promise<readonly Members[]> {
    const run = await openRun(home, agent, [action], { attempts: 3, side_effects: 2 });
    provider.answer((_request, response) => void held.push(response));
    const before = provider.received.length;
    const pending = call(agent, run, action, input);
    pending.catch(() => undefined);
    await until("the provider has the request", () => provider.received.length > before);
    await killAndRestart();
    await assert.rejects(pending);
    await assertSound(run);
    assert.equal(provider.received.length, before + 1, "a restart sends nothing again");
    const ended = (await home.events("run_ended")).filter(({ run_id }) => run_id === run);
    assert.deepEqual(
      ended.map(({ reason }) => reason),
      ["gateway_restarted"],
      "the run is over with what it spent",
    );
    return home.activity(run);
  }

  test("between the send and the answer: the intent is unknown, and no budget comes back", async () => {
    const calls = await loseAnswer("demo.thing.make", { name: "held" });
    lost = calls;
    assert.deepEqual(outcomesOf(calls), ["unknown"]);
  });

  test("a read between the send and the answer: unknown as well, without a row of its own", async () => {
    assert.deepEqual(outcomesOf(await loseAnswer("demo.thing.get", { id: "held" })), ["unknown"]);
  });

  test("a call whose outcome is unknown is one line of the Activity journal", () => {
    assert.equal(lost?.length, 1);
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

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const mayLimit = spawnSync("prlimit", ["--version"]).error === undefined;

describe("what cannot be recorded is not sent", mayLimit ? asUser : { skip: "prlimit is not installed" }, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;

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
    await provider?.close();
  });

  test("no more room at the intent: the call is not sent, the agent gets the code, and status says so", async () => {
    const run = await openRun(home, agent);
    assert.equal((await call(agent, run, "demo.thing.make", { name: "room" })).body["outcome"], "success");
    // From now on no file of the gateway can grow: every write past this size fails, as on a full disk.
    const limited = spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=512"]);
    assert.equal(limited.status, 0, String(limited.stderr));
    for (const action of ["demo.thing.make", "demo.thing.get"]) {
      const input: Members = action === "demo.thing.make" ? { name: "lost" } : { id: "lost" };
      const refused = await call(agent, run, action, input);
      assert.deepEqual([refused.status, refused.body["code"]], [503, "gateway_stopped"], refused.text);
    }
    assert.equal(provider.received.length, 1, "nothing was sent");
    const opened = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
    assert.equal(opened.body["code"], "gateway_stopped", opened.text);
    const status = await home.run(["status"]);
    assert.match(status.out, /STOPPED/);
    assert.notEqual((await home.status())["stopped"], null);
    assert.match(gateway.err(), /stopped sending/);
  });

  test("with room again it has to be started anew: a failed write is never tried again", async (t) => {
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=unlimited"]);
    const still = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
    assert.equal(still.body["code"], "gateway_stopped");
    await gateway.end("SIGTERM");
    agent.close();
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    const run = await openRun(home, agent);
    assert.equal((await call(agent, run, "demo.thing.get", { id: "1" })).body["outcome"], "success");
    if (!(await home.knows("audit"))) return t.skip("gw audit is not there yet: the rest held");
    const verified = await home.verify();
    assert.equal(verified.code, 0, verified.out);
  });
});

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
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
import { idOf } from "./support/reply.ts";

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
    const limited = spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=512:unlimited"]);
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
    // Nothing can be recorded of it, and it is over all the same.
    const [session] = JSON.parse((await home.must(["sessions", "--json"])).out) as readonly Members[];
    for (const _twice of [1, 2]) {
      const revoked = await home.operator(["revoke", idOf(session ?? {}, "session_id")]);
      assert.deepEqual([revoked.code, codeOf(revoked)], [1, "end_unrecorded"], revoked.err);
    }
    assert.equal((await home.status())["sessions_live"], 0);
  });

  test("with room again it stays stopped until an operator resumes it, and the log has verified itself", async () => {
    const early = await home.operator(["resume"]);
    assert.deepEqual([early.code, codeOf(early)], [1, "log_failed"], "there is still no room");
    assert.notEqual((await home.status())["stopped"], null);
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=unlimited:unlimited"]);
    const still = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
    assert.equal(still.body["code"], "gateway_stopped");
    await home.must(["resume"]);
    assert.equal((await home.status())["stopped"], null);
    const run = await openRun(home, agent);
    assert.equal((await call(agent, run, "demo.thing.get", { id: "resumed" })).body["outcome"], "success");
    const again = await home.operator(["resume"]);
    assert.deepEqual([again.code, codeOf(again)], [1, "not_stopped"]);
    assert.equal((await home.verify()).code, 0);
    assert.equal((await home.events("gateway_resumed")).length, 1);
  });

  test("a log that was changed or cut back meanwhile is not gone on with", async () => {
    // Where the log itself had failed it went on with another segment.
    const segments = readdirSync(join(home.folder, "audit")).filter((name) => name.endsWith(".gwlog"));
    const file = join(home.folder, "audit", segments.sort().at(-1) ?? "");
    const earlier = endOf(readFileSync(file));
    const run = await openRun(home, agent);
    assert.equal((await call(agent, run, "demo.thing.get", { id: "later" })).body["outcome"], "success");
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=512:unlimited"]);
    await until("it has stopped", async () => {
      await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
      return (await home.status())["stopped"] !== null;
    });
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=unlimited:unlimited"]);
    const bytes = readFileSync(file);
    const flipped = Buffer.from([(bytes[600] ?? 0) ^ 1]);
    // Put back to what it was, byte for byte: a log that only its store stopped goes on with its seals.
    for (const [at, changed] of [
      [600, flipped],
      [earlier, Buffer.alloc(endOf(bytes) - earlier)],
    ] as const) {
      writeAt(file, at, changed);
      const refused = await home.operator(["resume"]);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "log_failed"], refused.err);
      writeAt(file, at, bytes.subarray(at, at + changed.length));
    }
    await home.must(["resume"]);
  });

  test("a lock that cannot be recorded is one, and says so", async () => {
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=512:unlimited"]);
    await openRun(home, agent).catch(() => undefined);
    const locked = await home.operator(["lock"]);
    assert.deepEqual([locked.code, codeOf(locked)], [1, "end_unrecorded"], locked.err);
    assert.equal((await home.status())["locked"], true);
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=unlimited:unlimited"]);
  });

  test("a gateway that was stopped can also be started anew", async (t) => {
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

/** Behind the last frame there is room that was set aside. */
function endOf(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
}

function writeAt(file: string, at: number, bytes: Buffer): void {
  const fd = openSync(file, "r+");
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
}

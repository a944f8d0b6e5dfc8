import assert from "node:assert/strict";
import { fork, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  start,
  startAgent,
  until,
  within,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const REQUEST = "GET /v1/actions HTTP/1.1\r\nHost: gw\r\n\r\n";

describe("a process is known by what the system says of it", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let plane: Plane;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.upByHand();
    plane = openPlane(home.agentSocket);
  });

  after(async () => {
    plane?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("exec after the approval ends the session: the new image is a new caller", async () => {
    const agent = await startAgent(home);
    try {
      const run = await openRun(home, agent);
      assert.equal((await call(agent, run, "demo.thing.get", { id: "1" })).body["outcome"], "success");
      const sent = provider.received.length;
      await agent.replaceImage();
      await until("the session has ended", async () => (await home.status())["sessions_live"] === 0);
      const after = await call(agent, run, "demo.thing.get", { id: "2" });
      assert.deepEqual([after.status, after.body["code"]], [404, "not_found"]);
      assert.equal(provider.received.length, sent);
      const asked = await agent.ask("POST", "/v1/runs", { purpose: "again", actions: ["demo.thing.get"] });
      assert.equal(asked.status, 202, "it is asked about anew");
    } finally {
      agent.close();
    }
  });

  test("the session ends with its process, and its open question is withdrawn", async () => {
    const agent = await startAgent(home);
    await openRun(home, agent, ["demo.thing.burn"]).then((run) =>
      call(agent, run, "demo.thing.burn", { name: "x" }, 0),
    );
    assert.equal((await home.status())["approvals_pending"], 1);
    agent.close();
    await until(
      "nothing of it is left",
      async () => {
        const { sessions_live, approvals_pending } = await home.status();
        return sessions_live === 0 && approvals_pending === 0;
      },
      5_000,
    );
  });

  test("a revoked session ends at once", async (t) => {
    const run = await openRun(home, plane);
    const session = idIn(await plane.ask("GET", `/v1/runs/${run}`), "session_id");
    if (session === "null") return t.skip("the run does not show its session");
    await home.must(["revoke", session, "--reason", "enough"]);
    const tried = await call(plane, run, "demo.thing.get", { id: "3" });
    assert.ok(["session_ended", "run_ended"].includes(String(tried.body["code"])), tried.text);
  });

  test("an inherited descriptor does not speak for the process that connected", async () => {
    const { socket } = await connected(home.agentSocket);
    const script = `const fs = require("node:fs"); fs.writeSync(3, ${JSON.stringify(REQUEST)});
      new (require("node:net").Socket)({ fd: 3 }).on("data", (text) => process.stdout.write(text)).on("error", () => {});`;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit", socket] });
    let answered = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      answered += chunk.toString("latin1");
    });
    try {
      await within(new Promise((resolve) => child.once("close", resolve)), 120_000, "the connection is ended");
      assert.equal(answered, "", "nothing is answered");
    } finally {
      child.kill("SIGKILL");
      socket.destroy();
    }
  });

  test("a passed descriptor does not speak for the process that connected", async () => {
    const { socket, closed } = await connected(home.agentSocket);
    const file = join(makeFolder(), "receiver.cjs");
    writeFileSync(file, `process.on("message", (_, socket) => socket.write(${JSON.stringify(REQUEST)}));`);
    const child = fork(file, [], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
    try {
      child.send("take it", socket, { keepOpen: true });
      assert.equal(await within(closed, 120_000, "the connection is ended"), "", "and nothing is answered");
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("a program that ends with many connections open leaves one refusal", async (t) => {
    if (!(await home.knows("audit"))) return t.skip("gw audit is not there yet");
    const gone = async () => (await home.events("caller_refused")).filter(({ code }) => code === "caller_gone").length;
    const before = await gone();
    const script = `let answered = 0;
      for (let count = 0; count < 16; count++) {
        const socket = require("node:net").connect(process.argv[1]).on("error", () => {});
        socket.once("data", () => ++answered === 16 && process.exit());
        socket.write(${JSON.stringify(REQUEST)});
      }`;
    const child = spawn(process.execPath, ["-e", script, home.agentSocket], { stdio: ["ignore", "ignore", "inherit"] });
    await within(new Promise((resolve) => child.once("close", resolve)), 120_000, "all are answered");
    const after = await gone();
    assert.ok(after - before <= 1, `${after - before} refusals`);
  });

  test("who was refused is in the log", async (t) => {
    if (!(await home.knows("audit"))) return t.skip("gw audit is not there yet");
    const refused = (await home.events("caller_refused")).map(({ code }) => code);
    assert.ok(refused.filter((code) => code === "caller_writer_changed").length >= 2, JSON.stringify(refused));
  });

  test("SIGUSR1 opens no inspector in the gateway, nor in the command that started it", async () => {
    for (const pid of [gateway.pid, gateway.child.pid ?? 0]) process.kill(pid, "SIGUSR1");
    assert.equal((await home.run(["status"])).code, 0);
    assert.equal(gateway.child.exitCode, null);
    assert.ok(!/Debugger listening/.test(gateway.err() + gateway.out()));
  });

  test("the gateway's memory, environment and descriptors are closed to its own user", async () => {
    for (const pid of [gateway.pid, gateway.child.pid ?? 0]) {
      for (const name of ["environ", "mem", "maps", "auxv"]) {
        assert.throws(() => readFileSync(`/proc/${pid}/${name}`), { code: /EACCES|EPERM/ }, `${pid} ${name}`);
      }
    }
  });

  test("a tracer cannot attach to the gateway", { skip: missing("strace") }, async () => {
    const traced = await start(["strace", "-f", "-o", "/dev/null", "-p", String(gateway.pid)]).exited;
    assert.notEqual(traced.code, 0);
    assert.match(traced.err, /Operation not permitted/);
  });

  test("a command that is traced from its start refuses to run", { skip: missing("strace") }, async () => {
    const traced = await start(["strace", "-f", "-o", "/dev/null", GW, "status", "--home", home.folder]).exited;
    assert.deepEqual([traced.code, codeOf(traced)], [1, "program_traced"]);
  });

  test("NODE_OPTIONS does not bring code into our programs", async () => {
    const mark = join(makeFolder(), "mark");
    const evil = join(makeFolder(), "evil.cjs");
    writeFileSync(evil, `require("node:fs").writeFileSync(${JSON.stringify(mark)}, process.argv.join(" "))`);
    const env = { ...home.environment(), NODE_OPTIONS: `--require ${evil}`, NODE_EXTRA_CA_CERTS: evil };
    spawnSync(process.execPath, ["-e", ""], { env });
    assert.ok(existsSync(mark), "it works against a program that does not care");
    writeFileSync(mark, "");
    assert.equal((await home.run(["status"], { env })).code, 0);
    assert.equal(readFileSync(mark, "utf8"), "");
  });

  test("LD_PRELOAD does not bring code into our programs", { skip: missing("cc") }, async () => {
    const folder = makeFolder();
    const mark = join(folder, "mark");
    const source = `#include <stdio.h>
      __attribute__((constructor)) static void in(void) {
        char name[64] = ""; FILE *self = fopen("/proc/self/comm", "r"), *mark = fopen("${mark}", "a");
        if (self && fgets(name, sizeof name, self)) fputs(name, mark); if (mark) fclose(mark); }`;
    writeFileSync(join(folder, "evil.c"), source);
    const evil = join(folder, "evil.so");
    assert.equal(spawnSync("cc", ["-shared", "-fPIC", "-o", evil, join(folder, "evil.c")]).status, 0);
    const env = { ...home.environment(), LD_PRELOAD: evil };
    spawnSync(process.execPath, ["-e", ""], { env });
    assert.match(readFileSync(mark, "utf8"), /node|MainThread/, "it works against a program that does not care");
    writeFileSync(mark, "");
    assert.equal((await home.run(["status"], { env })).code, 0);
    assert.doesNotMatch(readFileSync(mark, "utf8"), /node|MainThread/, "the launcher's shell alone had it");
  });
});

/** A connection of this process that has spoken once; `closed` gives what came after that until it ended. */
async function connected(path: string): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connect(path);
  let text = "";
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  socket.write(REQUEST);
  await until("the first answer", () => text.endsWith("]"));
  text = "";
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  return { socket, closed };
}

function missing(program: string): string | false {
  return spawnSync(program, ["--version"]).error === undefined ? false : `${program} is not installed`;
}

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  call,
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Identity,
  type Members,
  makeFolder,
  openRun,
  type Started,
  start,
  startAgent,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const owner: Identity = { uid: 64_123, gid: 64_123 };
const stranger: Identity = { uid: 64_124, gid: 64_124 };

/** Two users and a small disk of their own need root to set up; what is tested runs as neither. */
const cannot = ((): string | undefined => {
  if (process.platform !== "linux") return "the users are made for Linux";
  if (process.getuid?.() !== 0) return "two users and a small disk need root to set up";
  const reached = spawnSync(
    "test",
    ["-r", join(dirname(dirname(GW)), "package.json"), "-a", "-x", process.execPath],
    owner,
  );
  return reached.status === 0 ? undefined : "an unprivileged user cannot read this clone";
})();

interface Reply {
  readonly status: number | undefined;
  readonly text: string;
}

/** One request on a connection of its own, as the console's page makes it. */
function askPort(
  port: number,
  path: string,
  method: string,
  headers: Record<string, string>,
  body: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const asked = { host: "127.0.0.1", port, path, method, agent: false as const };
    const sent = request({ ...asked, headers: { host: `gw.localhost:${port}`, ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += String(part);
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

describe("two users, and a disk that fills up", cannot === undefined ? {} : { skip: cannot }, () => {
  let disk: string;
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    disk = join(makeFolder(), "disk");
    chmodSync(dirname(disk), 0o755);
    mkdirSync(disk);
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m,mode=755", "gw-test", disk]);
    assert.equal(mounted.status, 0, String(mounted.stderr));
    provider = await startProvider();
    home = await new Home(disk, owner).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
    spawnSync("umount", ["-l", disk]);
  });

  test("another user can neither open the sockets nor read the home", async () => {
    const script = `const { readFileSync, readdirSync } = require("node:fs"), { connect } = require("node:net"), { join } = require("node:path");
      const home = process.argv[1], say = (what, error) => console.log(what + " " + (error ? error.code : "open"));
      for (const name of ["vault.json", "policy.json", "state.db", "audit/0000000001.gwlog"]) {
        try { readFileSync(join(home, name)); say(name); } catch (error) { say(name, error); } }
      try { readdirSync(home); say("folder"); } catch (error) { say("folder", error); }
      for (const name of ["agent.sock", "operator.sock"])
        connect(join(home, name)).on("connect", function () { say(name); this.destroy(); }).on("error", (error) => say(name, error));`;
    const tried = await start([process.execPath, "-e", script, home.folder], { as: stranger, env: {} }).exited;
    const lines = tried.out.trim().split("\n");
    assert.equal(lines.length, 7, tried.out + tried.err);
    for (const line of lines) assert.match(line, / EACCES$/, line);
  });

  test("another user's command is refused with a code, and cannot signal or inspect the gateway", async () => {
    const done = await start([GW, "status", "--home", home.folder], { as: stranger, env: home.environment() }).exited;
    assert.equal(done.code, 3, done.err);
    assert.match(done.err, /gateway_unreachable: This user may not open/);
    const kill = await start(["sh", "-c", `kill -TERM ${gateway.pid}; cat /proc/${gateway.pid}/environ`], {
      as: stranger,
    }).exited;
    assert.match(kill.err, /not permitted|denied/i);
    assert.equal((await home.run(["status"])).code, 0);
  });

  test("another user that holds as many connections to gw console as there are keeps its person out of nothing", async () => {
    const port = await freePort();
    const program = home.start(["console", "--port", String(port), "--passphrase-file", home.passphraseFile]);
    const script = `const { connect } = require("node:net"); let open = 0;
      for (let index = 0; index < 100; index++) connect(Number(process.argv[1]), "127.0.0.1")
        .on("connect", () => { if (++open === 100) console.log("all"); }).on("error", () => undefined);
      setInterval(() => undefined, 1000);`;
    let holder: Started | undefined;
    try {
      const link = await until("a link is printed", () => /http:\S+#([A-Za-z0-9_-]{43})/.exec(program.out()) ?? false);
      holder = start([process.execPath, "-e", script, String(port)], { as: stranger, env: {} });
      await until("the stranger holds them", () => holder?.out().includes("all"));
      const ask = (path: string, method: string, more: Record<string, string>, body = ""): Promise<Reply> =>
        askPort(port, path, method, more, body);
      assert.equal((await ask("/", "GET", {})).status, 200, "the page");
      const origin = { origin: `http://gw.localhost:${port}`, "content-type": "application/json" };
      const entered = await ask("/api/enter", "POST", origin, JSON.stringify({ token: link[1] }));
      assert.equal(entered.status, 200, entered.text);
      const { key } = JSON.parse(entered.text) as { readonly key: string };
      assert.equal((await ask("/api/me", "GET", { authorization: `Bearer ${key}` })).status, 200);
    } finally {
      await holder?.end();
      await program.end();
    }
  });

  test("a disk that is nearly full: nothing new begins and nothing is sent, the agent gets the code, and with room again it goes on", async () => {
    const agent = await startAgent(home);
    try {
      const run = await openRun(home, agent);
      assert.equal((await call(agent, run, "demo.thing.make", { name: "room" })).body["outcome"], "success");
      // Below the reserve of this disk (an eighth), with room for whatever is written until the gateway looks again.
      fill(disk, 6_291_456);
      let last = await call(agent, run, "demo.thing.get", { id: "full" });
      const sent = (): number => provider.received.length;
      // A moment later the gateway has looked at the disk, and what follows is refused before it is sent.
      let before = sent();
      for (let turn = 0; turn < 2_000 && last.status === 200; turn++) {
        before = sent();
        last = await call(agent, run, "demo.thing.get", { id: `full-${turn}` });
        if (last.body["code"] === "attempts_exhausted") break;
      }
      assert.deepEqual([last.status, last.body["code"]], [503, "disk_low"], last.text);
      assert.equal(sent(), before, "nothing was sent for it");
      const status = await home.status();
      assert.deepEqual([status["stopped"], status["disk_low"]], [null, true], "the reserve keeps it from stopping");
      assert.equal((await home.run(["status"])).code, 1, "a health check hears of it");
      const rows = JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
      assert.match(String(rows.find(({ name }) => name === "gateway")?.["detail"]), /DISK LOW/);
      // With room again it goes on by itself.
      for (const name of readdirSync(disk).filter((file) => file.startsWith("fill-"))) rmSync(join(disk, name));
      await until(
        "new work begins",
        async () => (await call(agent, run, "demo.thing.get", { id: "room" })).status === 200,
      );
    } finally {
      agent.close();
    }
  });

  test("on a disk without any room an operator still gets in to take power away: a wrong passphrase is counted, a lock holds", async () => {
    const wrong = join(disk, "wrong");
    writeFileSync(wrong, "not the passphrase\n", { mode: 0o600 });
    chownSync(wrong, owner.uid, owner.gid);
    fill(disk, 0);
    assert.equal(statfsSync(disk).bavail, 0, "there is no room");
    const refused = await home.run(["lock", "--passphrase-file", wrong]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "passphrase_wrong"], refused.err);
    const tries = JSON.parse(readFileSync(join(home.folder, "unlock-attempts.json"), "utf8")) as Members;
    assert.equal(tries["failed"], 1);
    assert.equal((await home.status())["locked"], false);
    // The gateway may have stopped by then, and says that too.
    const locked = await home.operator(["lock"]);
    assert.ok(locked.code === 0 || codeOf(locked) === "end_unrecorded", locked.err);
    assert.equal((await home.status())["locked"], true);
  });
});

/** Until so much is free. */
function fill(disk: string, leave: number): void {
  for (let index = 0; ; index++) {
    const free = statfsSync(disk).bavail * statfsSync(disk).bsize - leave;
    if (free <= 0) return;
    try {
      writeFileSync(join(disk, `fill-${index}`), Buffer.alloc(Math.min(free, 1_048_576)));
    } catch {
      return;
    }
  }
}

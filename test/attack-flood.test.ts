import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  demoPack,
  type Gateway,
  Home,
  makeFolder,
  openPlane,
  type Plane,
  start,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Opens `count` connections from another process and says nothing, or a byte of a head now and then. It prints what it holds. */
const HOLDER = `
const { connect } = require("node:net");
const [path, count, trickle] = [process.argv[1], Number(process.argv[2]), process.argv[3] === "trickle"];
let opened = 0, failed = 0, closed = 0;
const open = () => {
  const socket = connect(path);
  socket.on("connect", () => { opened++; if (trickle) socket.write("GET /v1/status HTTP/1.1\\r\\nx-a: "); next(); });
  socket.on("error", () => { failed++; next(); });
  socket.on("close", () => { closed++; });
};
let asked = 0;
const next = () => { if (asked < count) { asked++; open(); } else if (opened + failed === count) console.log("held " + opened); };
for (let lane = 0; lane < 32; lane++) next();
setInterval(() => undefined, 1000);`;

describe("a flood of connections keeps nobody else out", asUser, () => {
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

  async function flood(path: string, count: number, how: "silent" | "trickle") {
    const holder = start([process.execPath, "-e", HOLDER, path, String(count), how]);
    await until("the flood stands", () => holder.out().includes("held") || holder.child.exitCode !== null, 120_000);
    assert.match(holder.out(), /held/, holder.err());
    return holder;
  }

  test("400 trickling connections on the operator socket: gw lock and gw unlock still work", async () => {
    const holder = await flood(home.operatorSocket, 400, "trickle");
    try {
      await home.must(["lock"]);
      assert.equal((await home.status())["locked"], true);
      await home.must(["unlock"]);
      assert.equal((await home.status())["locked"], false);
    } finally {
      await holder.end();
    }
  });

  test("thousands of challenges push no operator's own out", async () => {
    const operator = openPlane(home.operatorSocket, 32);
    try {
      let asking = true;
      const flooding = Array.from({ length: 32 }, async () => {
        for (let count = 0; asking && count < 20_000; count++) await operator.ask("POST", "/v1/login/challenge");
      });
      try {
        await home.must(["approvals"]);
      } finally {
        asking = false;
        await Promise.all(flooding);
      }
    } finally {
      operator.close();
    }
  });

  test("3,000 silent connections on the agent socket: agents and operators are served", async () => {
    const holder = await flood(home.agentSocket, 3_000, "silent");
    try {
      const answered = await agent.ask("GET", "/v1/actions");
      assert.equal(answered.status, 200, answered.text);
      await home.must(["approvals"]);
      assert.equal((await home.status())["stopped"], null);
    } finally {
      await holder.end();
    }
  });

  test("a head that does not come is answered and closed on both planes", async () => {
    const trickle = async (path: string): Promise<void> => {
      const text = await new Promise<string>((resolve) => {
        const socket: Socket = connect(path);
        let got = "";
        socket.setEncoding("utf8");
        socket.on("connect", () => socket.write("GET /v1/status HTTP/1.1\r\nx-a: "));
        socket.on("data", (part) => {
          got += String(part);
        });
        socket.on("error", () => undefined);
        socket.on("close", () => resolve(got));
      });
      assert.match(text, /^HTTP\/1.1 408 /, path);
      assert.match(text, /"code":"request_timed_out"/);
    };
    await Promise.all([trickle(home.agentSocket), trickle(home.operatorSocket)]);
  });

  test("a pipe, a link, a folder and a device among the packs are named, and hold nobody up", async () => {
    const folder = join(home.folder, "packs");
    spawnSync("mkfifo", [join(folder, "pipe.yaml")]);
    symlinkSync("/dev/zero", join(folder, "link.yaml"));
    mkdirSync(join(folder, "folder.yaml"));
    const files = await until("the gateway has looked", async () => {
      const troubles = (await home.status())["pack_troubles"] as readonly { readonly file: string }[];
      return troubles.length >= 3 && troubles.map(({ file }) => file).sort();
    });
    assert.deepEqual(files, ["folder.yaml", "link.yaml", "pipe.yaml"]);
    assert.equal((await agent.ask("GET", "/v1/actions")).status, 200);
    for (const name of files) rmSync(join(folder, name), { recursive: true });
  });

  test("only an operator may order a reload; the gateway looks at its files by itself", async () => {
    const operator = openPlane(home.operatorSocket);
    try {
      const refused = await operator.ask("POST", "/v1/reload");
      assert.deepEqual([refused.status, refused.body["code"]], [401, "operator_not_logged_in"]);
      const before = Number((await home.status())["policy_version"]);
      await home.must(["policy", "set", "session_approval", "off"]);
      assert.ok(Number((await home.status())["policy_version"]) > before, "in force when the command returns");
    } finally {
      operator.close();
    }
  });
});

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  demoPack,
  type Gateway,
  Home,
  holdPlane,
  makeFolder,
  openPlane,
  openRun,
  start,
  until,
} from "./support/home.ts";
import { answerChallenge, operatorOf } from "./support/operator-key.ts";
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

/** Connects again as soon as it is let go, and prints how many were taken in and when the queue was full. */
const CROWD = `
const { connect } = require("node:net");
let taken = 0, full = false;
const open = () => {
  const socket = connect(process.argv[1]);
  socket.on("connect", () => { if (++taken % 100 === 0) console.log("taken " + taken); });
  socket.on("error", (error) => { if (error.code === "EAGAIN" && !full) { full = true; console.log("queue full"); } });
  socket.on("close", () => setTimeout(open, 20));
};
for (let index = 0; index < Number(process.argv[2]); index++) open();`;

/** Asks for a run that nobody decides on, and about it now and then, on one connection. It says when that is closed. */
const WAITER = `
const http = require("node:http");
const held = require("node:net").connect(process.argv[1]);
held.on("error", () => undefined).on("close", () => console.log("closed"));
const agent = Object.assign(new http.Agent({ keepAlive: true, maxSockets: 1 }), { createConnection: () => held });
const ask = (method, path, body) => {
  const headers = body ? { "content-type": "application/json", "content-length": body.length } : {};
  const request = http.request({ socketPath: "/", agent, method, path, headers }, (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (part) => { text += part; }).on("end", () => {
      console.log("answered " + answer.statusCode);
      setTimeout(ask, 300, "GET", "/v1/runs/" + JSON.parse(text).run_id);
    });
  });
  request.on("error", () => undefined);
  request.end(body);
};
ask("POST", "/v1/runs", JSON.stringify({ purpose: "to wait", actions: ["demo.thing.get"], budget: {} }));`;

const HEAD =
  'const { connect } = require("node:net"); const UP = "GET /mcp HTTP/1.1\\r\\nconnection: upgrade\\r\\nupgrade: gw-mcp\\r\\n\\r\\n";';

/** Writes notifications as fast as they are taken, and says `full` for each connection when they are not. */
const NOTIFIER = `${HEAD}
const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } }) + "\\n";
for (let index = 0; index < Number(process.argv[2]); index++) {
  const socket = connect(process.argv[1]);
  let told = false;
  const pour = () => { while (socket.write(line.repeat(200))); if (!told) { told = true; console.log("full"); } };
  socket.write(UP);
  socket.once("data", () => { pour(); socket.on("drain", pour); });
  socket.on("error", () => undefined);
}`;

/** Becomes an MCP client on so many connections, and then says nothing. It prints how many were taken. */
const SITTER = `${HEAD}
let upgraded = 0;
const sit = () => {
  const socket = connect(process.argv[1]);
  socket.write(UP);
  let taken = false;
  const next = () => { if (upgraded < Number(process.argv[2])) sit(); };
  socket.once("data", (part) => {
    taken = String(part).startsWith("HTTP/1.1 101");
    if (taken) console.log("upgraded " + ++upgraded);
    if (taken) next();
  });
  socket.on("error", () => undefined);
  socket.on("close", () => { if (!taken) setTimeout(next, 50); });
};
for (let lane = 0; lane < 16; lane++) sit();`;

/** Asks once on a connection of its own and prints what comes. */
const PINGER = `${HEAD}
const socket = connect(process.argv[1]);
socket.write(UP);
socket.once("data", () => {
  socket.on("data", (part) => console.log(String(part)));
  const clientInfo = { name: "c", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  socket.write(JSON.stringify({ jsonrpc: "2.0", id: "asked", method: "initialize", params }) + "\\n");
});`;

const NOTE = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } })}\n`;

/** A call of a tool that there is not: it is refused, and its name stands in the log in the order in which it was taken. */
function toolCall(name: string): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id: name, method: "tools/call", params: { name, arguments: {} } })}\n`;
}

/** A connection of this process that has said who it is. */
async function openMcp(path: string) {
  const socket = connect(path).setEncoding("utf8");
  let got = "";
  socket.on("data", (part) => {
    got += String(part);
  });
  const say = (text: string) => new Promise<void>((resolve) => void socket.write(text, () => resolve()));
  const answers = (): number => got.split('"jsonrpc"').length - 1;
  await say("GET /mcp HTTP/1.1\r\nconnection: upgrade\r\nupgrade: gw-mcp\r\n\r\n");
  await until("it is upgraded", () => got.includes("\r\n\r\n"));
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await say(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params })}\n`);
  await until("it is greeted", () => answers() === 1);
  return { say, answers, close: () => void socket.destroy() };
}

function turned(out: string): number {
  return Number([...out.matchAll(/taken (\d+)/g)].at(-1)?.[1] ?? 0);
}

describe("a flood of connections keeps nobody else out", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  async function flood(path: string, count: number, how: "silent" | "trickle") {
    const holder = start([process.execPath, "-e", HOLDER, path, String(count), how]);
    await until("the flood stands", () => holder.out().includes("held") || holder.child.exitCode !== null, 120_000);
    assert.match(holder.out(), /held/, holder.err());
    return holder;
  }

  /** A new connection to the agent socket, behind all that wait there: once it is answered they are gone. */
  async function listsActions(): Promise<void> {
    const listed = await home.run(["actions"]);
    assert.equal(listed.code, 0, listed.err);
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
    const challenge = async (): Promise<string> =>
      String((await operator.ask("POST", "/v1/login/challenge")).body["challenge"]);
    try {
      const { operator: ada } = await operatorOf(home);
      const own = await challenge();
      await Promise.all(
        Array.from({ length: 32 }, async () => {
          for (let count = 0; count < 64; count++) await challenge();
        }),
      );
      const login = await answerChallenge(operator, ada, own);
      assert.equal(login.status, 200, login.text);
    } finally {
      operator.close();
    }
  });

  test("3,000 silent connections on the agent socket: agents and operators are served", async () => {
    const holder = await flood(home.agentSocket, 3_000, "silent");
    try {
      await listsActions();
      await home.must(["approvals"]);
      assert.equal((await home.status())["stopped"], null);
    } finally {
      await holder.end();
      await listsActions();
    }
  });

  test("an approved agent and one that waits for a person keep their connections, and gw gets through a full queue, while connections come without end", async () => {
    const approved = holdPlane(home.agentSocket);
    const run = await openRun(home, approved, ["demo.thing.get"], { attempts: 100 });
    const served = async (id: string): Promise<string> =>
      String((await call(approved, run, "demo.thing.get", { id })).body["outcome"]);
    assert.equal(await served("before"), "success");
    const waiting = start([process.execPath, "-e", WAITER, home.agentSocket]);
    await until("another agent waits for a person", () => waiting.out().includes("answered 202"));
    const crowds = Array.from({ length: 3 }, () => start([process.execPath, "-e", CROWD, home.agentSocket, "500"]));
    const taken = (): number => crowds.reduce((sum, crowd) => sum + turned(crowd.out()), 0);
    try {
      for (let turn = 0; turn < 5; turn++) {
        const seen = taken();
        // More came and went than there are places: whoever is only idle was let go meanwhile.
        await until("the crowd has turned over", () => taken() > seen + 600, 120_000);
        assert.equal(await served(`turn-${turn}`), "success");
        const asked = waiting.out().length;
        await until("it asks about its run and is answered", () => waiting.out().length > asked, 60_000);
        assert.doesNotMatch(waiting.out(), /closed/, "on the connection that it had");
      }
      assert.match(crowds.map(({ out }) => out()).join(), /queue full/, "a new connection has to knock more than once");
      await listsActions();
    } finally {
      for (const crowd of crowds) await crowd.end();
      await waiting.end();
      approved.close();
      await listsActions();
    }
  });

  test("MCP notifications without end on several connections: agents and operators are answered meanwhile", async () => {
    const crowd = start([process.execPath, "-e", NOTIFIER, home.agentSocket, "6"]);
    try {
      await until("all of them send more than is read", () => crowd.out().split("full").length > 6, 60_000);
      await listsActions();
      await home.must(["approvals"]);
      const bridge = start([process.execPath, "-e", PINGER, home.agentSocket]);
      await until("another connection is answered", () => bridge.out().includes('"id":"asked"'), 60_000);
      await bridge.end();
    } finally {
      await crowd.end();
    }
  });

  test("a program that sits on more MCP connections than there are places keeps no other program out", async () => {
    const sitter = start([process.execPath, "-e", SITTER, home.agentSocket, "300"]);
    try {
      await until("all of them were let in", () => sitter.out().includes("upgraded 300"), 120_000);
      await listsActions();
    } finally {
      await sitter.end();
      await listsActions();
    }
  });

  test("lines that one MCP connection sends without end and those of another are taken in turns", async () => {
    const [flooder, other] = [await openMcp(home.agentSocket), await openMcp(home.agentSocket)];
    // Everything is there before the gateway looks: what it then takes first is its own choice.
    process.kill(gateway.pid, "SIGSTOP");
    try {
      const flood = [NOTE.repeat(100), toolCall("flood__early"), NOTE.repeat(500), toolCall("flood__end")];
      await flooder.say(flood.join(""));
      await other.say(Array.from({ length: 10 }, (_, index) => toolCall(`other__call-${index}`)).join(""));
    } finally {
      process.kill(gateway.pid, "SIGCONT");
    }
    await until("everything is answered", () => flooder.answers() === 3 && other.answers() === 11);
    flooder.close();
    other.close();
    const told = (await home.events("request_refused")).map(({ endpoint }) => String(endpoint).split(" ")[1] ?? "");
    const order = told.filter((tool) => /^(flood|other)__/.test(tool));
    assert.deepEqual(order.slice(-2), ["flood__early", "flood__end"]);
    assert.equal(order.length, 12);
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
    await listsActions();
    for (const name of files) rmSync(join(folder, name), { recursive: true });
  });

  test("only an operator may order a reload; the gateway looks at its files by itself", async () => {
    const operator = openPlane(home.operatorSocket);
    try {
      const refused = await operator.ask("POST", "/v1/reload");
      assert.deepEqual([refused.status, refused.body["code"]], [401, "operator_not_logged_in"]);
      const before = Number((await home.status())["policy_version"]);
      await home.must(["policy", "set", "headless_unlock", "on"]);
      assert.ok(Number((await home.status())["policy_version"]) > before, "in force when the command returns");
    } finally {
      operator.close();
    }
  });
});

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CROWD, HOLDER, NOTIFIER, PINGER, SITTER, WAITER } from "./support/floods.ts";
import { COLLECT, heldMiB } from "./support/held.ts";
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
import { idIn } from "./support/reply.ts";
import { whole } from "./support/whole.ts";

const MOST_LEFT_MIB = 4;
/** The beginning of a head, and never its end. */
const TRICKLE = "GET /v1/status HTTP/1.1\r\nx-a: ";

/** A call of a tool that there is not: it is refused, and its name stands in the log in the order in which it was taken. */
function toolCall(name: string): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id: name, method: "tools/call", params: { name, arguments: {} } })}\n`;
}

/** A connection of this process that was let in: it is answered on it. */
async function connectTo(path: string, head = "GET /nowhere HTTP/1.1\r\n\r\n") {
  const socket = connect(path).setEncoding("utf8");
  let got = "";
  socket.on("data", (part) => {
    got += String(part);
  });
  const say = (text: string) => new Promise<void>((resolve) => void socket.write(text, () => resolve()));
  await say(head);
  await until("it is answered", () => got.includes("\r\n\r\n"));
  return { say, answers: (): number => got.split('"jsonrpc"').length - 1, close: () => void socket.destroy() };
}

/** One that has said who it is. */
async function openMcp(path: string) {
  const opened = await connectTo(path, "GET /mcp HTTP/1.1\r\nconnection: upgrade\r\nupgrade: gw-mcp\r\n\r\n");
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await opened.say(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params })}\n`);
  await until("it is greeted", () => opened.answers() === 1);
  return opened;
}

/** How many connections the program that listens there has open; the socket that listens is none. */
function endsAt(path: string): number {
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  return lines.filter((line) => line.endsWith(` ${path}`) && !line.includes(" 00010000 ")).length;
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
    gateway = await home.upWith(COLLECT);
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  async function flood(path: string, count: number, text = "") {
    const holder = start([process.execPath, "-e", HOLDER, path, String(count), text]);
    await until("the flood stands", () => holder.out().includes("held") || holder.child.exitCode !== null, 120_000);
    assert.match(holder.out(), /held/, holder.err());
    return holder;
  }

  /** A new connection to the agent socket, behind all that wait there: once it is answered they are gone. */
  async function listsActions(): Promise<void> {
    const listed = await home.run(["actions"]);
    assert.equal(listed.code, 0, listed.err);
  }

  /** Goes once the gateway has begun to read it. */
  function askAndLeave(text: string): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(home.agentSocket);
      socket.on("error", () => undefined).on("close", () => resolve());
      socket.write(text, () => socket.destroy());
    });
  }

  /** While the gateway stands still all of them come to wait at its door, in this order; what it then does is its own choice. */
  async function whileStopped<Found>(work: () => Promise<Found>): Promise<Found> {
    // A crowd that has ended leaves its seats when the gateway has closed its own ends, which the kernel lists by their path.
    await until("nobody holds a seat", () => endsAt(home.operatorSocket) === 0);
    await home.status();
    await until("nobody holds a seat", () => endsAt(home.operatorSocket) === 0);
    process.kill(gateway.pid, "SIGSTOP");
    try {
      return await work();
    } finally {
      process.kill(gateway.pid, "SIGCONT");
    }
  }

  test("400 trickling connections on the operator socket: gw lock, gw unlock and gw revoke still work", async () => {
    const agent = holdPlane(home.agentSocket);
    const run = await openRun(home, agent, ["demo.thing.get"], { attempts: 10 });
    const crowds = await whileStopped(async () => [
      await flood(home.operatorSocket, 200, TRICKLE),
      await flood(home.operatorSocket, 200, TRICKLE),
    ]);
    try {
      // Each has its 64 places, so that there is none left, and the rest was turned away.
      for (const { out } of crowds) await until("the places are taken", () => /closed 136\b/.test(out()));
      const newcomer = holdPlane(home.operatorSocket);
      assert.equal((await newcomer.ask("GET", "/v1/status")).status, 200, "on the first connection that it makes");
      newcomer.close();
      const session = idIn(await agent.ask("GET", `/v1/runs/${run}`), "session_id");
      await home.must(["revoke", session]);
      assert.equal((await call(agent, run, "demo.thing.get", { id: "revoked" })).body["code"], "session_ended");
      await home.must(["lock"]);
      assert.equal((await home.status())["locked"], true);
      await home.must(["unlock"]);
      assert.equal((await home.status())["locked"], false);
    } finally {
      for (const crowd of crowds) await crowd.end();
      agent.close();
    }
  });

  test("an operator is not served after everybody who came before: of a crowd at the door a process has its places and no more", async () => {
    const { crowd, answer } = await whileStopped(async () => {
      const first = await flood(home.operatorSocket, 300, "GET /v1/status HTTP/1.1\r\n\r\n");
      const operator = holdPlane(home.operatorSocket);
      return { crowd: first, answer: operator.ask("GET", "/v1/status").finally(() => operator.close()) };
    });
    try {
      assert.equal((await answer).status, 200);
      const told = (what: string): number => crowd.out().split(`${what} `).length - 1;
      await until("everybody was answered or turned away", () => told("answered") + told("closed") >= 300);
      assert.equal(told("answered"), 64);
    } finally {
      await crowd.end();
    }
  });

  test("a connection on which a key was proven stays, however many more its program opens", async () => {
    const [proven, { operator: ada }] = [holdPlane(home.operatorSocket), await operatorOf(home)];
    const { body } = await proven.ask("POST", "/v1/login/challenge");
    const login = await answerChallenge(proven, ada, String(body["challenge"]));
    const authorization = { authorization: `Bearer ${String(login.body["token"])}` };
    const sessions = async (): Promise<number> =>
      (await proven.ask("GET", "/v1/sessions", undefined, authorization)).status;
    assert.equal(await sessions(), 200);
    const others: Awaited<ReturnType<typeof connectTo>>[] = [];
    try {
      for (let opened = 0; opened < 70; opened++) others.push(await connectTo(home.operatorSocket));
      assert.equal(await sessions(), 200, "on the connection that it had");
    } finally {
      for (const one of [proven, ...others]) one.close();
    }
  });

  test("hundreds of challenges push no operator's own out", async () => {
    const operator = openPlane(home.operatorSocket, 32);
    const challenge = async (): Promise<string> =>
      String((await operator.ask("POST", "/v1/login/challenge")).body["challenge"]);
    try {
      const { operator: ada } = await operatorOf(home);
      const own = await challenge();
      await Promise.all(
        Array.from({ length: 32 }, async () => {
          for (let count = 0; count < (whole ? 64 : 16); count++) await challenge();
        }),
      );
      const login = await answerChallenge(operator, ada, own);
      assert.equal(login.status, 200, login.text);
    } finally {
      operator.close();
    }
  });

  test("whoever asks for an answer that takes minutes and hangs up, again and again, leaves nothing behind in the gateway", async () => {
    const agent = holdPlane(home.agentSocket);
    try {
      const opened = await agent.ask("POST", "/v1/runs", {
        purpose: "to wait",
        actions: ["demo.thing.get"],
        budget: {},
      });
      assert.equal(opened.status, 202, opened.text);
      const head = `GET /v1/runs/${idIn(opened, "run_id")} HTTP/1.1\r\nHost: gw\r\nPrefer: wait=600\r\nX-Any: ${"x".repeat(12_000)}\r\n\r\n`;
      const askOften = async (rounds: number): Promise<number> => {
        for (let round = 0; round < rounds; round++)
          await Promise.all(Array.from({ length: 20 }, () => askAndLeave(head.repeat(60))));
        await listsActions();
        return heldMiB(gateway);
      };
      // What is made once is there after a few of them; what they leave behind would grow with each.
      const [before, after] = [await askOften(2), await askOften(8)];
      assert.ok(after - before < MOST_LEFT_MIB, `${before} MiB, and ${after} MiB after four times as many`);
      await home.approve(idIn(opened, "approval_id"));
    } finally {
      agent.close();
    }
  });

  test("3,000 silent connections on the agent socket: agents and operators are served", async () => {
    const holder = await flood(home.agentSocket, 3_000);
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
      for (let turn = 0; turn < (whole ? 5 : 2); turn++) {
        const seen = taken();
        // More came and went than there are places: whoever is only idle was let go meanwhile.
        await until("the crowd has turned over", () => taken() > seen + 600, 120_000);
        assert.equal(await served(`turn-${turn}`), "success");
        const asked = waiting.out().length;
        await until("it asks about its run and is answered", () => waiting.out().length > asked);
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
      await until("all of them send more than is read", () => crowd.out().split("full").length > 6);
      await listsActions();
      await home.must(["approvals"]);
      const bridge = start([process.execPath, "-e", PINGER, home.agentSocket]);
      await until("another connection is answered", () => bridge.out().includes('"id":"asked"'));
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
    // More than the gateway looks at in one go stand between the two, so that it reads the flood first and alone.
    const between = await Promise.all(Array.from({ length: 140 }, () => connectTo(home.agentSocket)));
    const calls = (who: string, count: number): string[] =>
      Array.from({ length: count }, (_, index) => toolCall(`${who}__call-${index}`));
    await whileStopped(async () => {
      await flooder.say(calls("flood", 24).join(""));
      for (const { say } of between) await say("GET ");
      await other.say(calls("other", 3).join(""));
    });
    await until("everything is answered", () => flooder.answers() === 25 && other.answers() === 4);
    for (const one of [flooder, other, ...between]) one.close();
    const told = (await home.events("request_refused")).map(({ endpoint }) => String(endpoint).split(" ")[1] ?? "");
    const order = told.filter((tool) => /^(flood|other)__/.test(tool));
    assert.equal(order.length, 27);
    assert.equal(order.at(-1), "flood__call-23", order.join(" "));
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

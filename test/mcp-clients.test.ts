import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { asUser, demoPack, type Gateway, GW, Home, type Members, makeFolder, until, within } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const fixtures = join(import.meta.dirname, "fixtures");

/** A scripted agent and the answers it gave, in order. */
interface Agent {
  readonly child: ChildProcess;
  order(order: object): void;
  answer(): Promise<Members>;
  end(): Promise<void>;
}

function startAgent(home: Home, era: "current" | "legacy", args: readonly string[] = []): Agent {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", join(fixtures, "mcp-agent.ts"), era, GW, home.folder, ...args],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    child,
    order: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    async answer() {
      for (;;) {
        const { value, done } = await within(lines.next(), 120_000, "the agent's answer");
        assert.ok(done !== true, "the agent ended");
        const answer = JSON.parse(String(value)) as Members;
        // A slow machine shows progress where a fast one needs none.
        if (!("progress" in answer)) return answer;
      }
    },
    async end() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function structured(answer: Members): Members {
  assert.ok("structuredContent" in answer, JSON.stringify(answer));
  return answer["structuredContent"] as Members;
}

const names = (answer: Members): readonly string[] =>
  (answer["tools"] as readonly { name: string }[]).map(({ name }) => name);

const OWN = [
  "gw_budget",
  "gw_wait",
  "gw_request_access",
  "gw_reconcile",
  "gw_repeat_call",
  "gw_cancel_operation",
  "gw_resume_operation",
];
const TOOLS = [...OWN, "demo__thing-burn", "demo__thing-get", "demo__thing-make"];

describe("MCP with real processes and the official clients", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway | undefined;
  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
  });
  after(async () => {
    await gateway?.end("SIGTERM");
    await provider.close();
  });

  for (const [era, version] of [
    ["current", "2026-07-28"],
    ["legacy", "2025-11-25"],
  ] as const) {
    test(`the ${era} client lists tools, waits for an approval longer than its timeout, and gets the result through gw_wait`, async () => {
      const seen = provider.received.length;
      const agent = startAgent(home, era, ["--wait", "1"]);
      try {
        assert.equal((await agent.answer())["version"], version);
        agent.order({ do: "list" });
        assert.deepEqual(names(await agent.answer()), TOOLS);
        // A throw-away sibling that only looks around is asked about no more than the first look.
        agent.order({ do: "probe" });
        assert.deepEqual(names(await agent.answer()), TOOLS);
        assert.equal((await home.status())["approvals_pending"], 0);
        // The client gives up after five seconds; the person decides later than that.
        const timeoutMs = 5_000;
        const asked = performance.now();
        agent.order({ do: "call", name: "demo__thing-make", input: { name: "x" }, timeoutMs });
        const pending = structured(await agent.answer());
        assert.equal(pending["state"], "pending");
        await until("the client's timeout has passed", () => performance.now() - asked > timeoutMs);
        assert.equal(provider.received.length, seen);
        const [approval] = await home.approvals();
        const card = approval?.["card"] as unknown as { notes: readonly string[]; run: { purpose_claimed: string } };
        assert.match(card.notes[0] ?? "", /gw mcp/);
        assert.match(card.notes[1] ?? "", new RegExp(`process ${agent.child.pid},`));
        assert.equal(card.run.purpose_claimed, `work for the MCP client scripted agent, ${era} 1.0`);
        await home.approve(idOf(approval, "approval_id"));
        agent.order({ do: "call", name: "gw_wait", input: { id: pending["call_id"] }, timeoutMs });
        const done = structured(await agent.answer());
        assert.deepEqual([done["state"], done["outcome"], done["call_id"]], ["done", "success", pending["call_id"]]);
        assert.equal(provider.received.length, seen + 1);
        // The session stands: no new question.
        agent.order({ do: "call", name: "demo__thing-make", input: { name: "y" } });
        assert.equal(structured(await agent.answer())["outcome"], "success");
      } finally {
        await agent.end();
      }
      await until("the session has ended with its bridge", async () => (await home.status())["sessions_live"] === 0);
    });
  }

  test("a client that gives up while nobody has decided takes the call back, and nothing is sent", async () => {
    const seen = provider.received.length;
    const agent = startAgent(home, "legacy");
    try {
      await agent.answer();
      agent.order({ do: "call", name: "demo__thing-burn", input: { name: "x" }, timeoutMs: 500 });
      assert.match(String((await agent.answer())["failed"]), /timed out/i);
      await until("the question is gone", async () => (await home.status())["approvals_pending"] === 0);
      assert.equal(provider.received.length, seen);
    } finally {
      await agent.end();
    }
  });

  for (const [era, mine, input, other] of [
    ["current", "get", { id: "1" }, "make"],
    ["legacy", "make", { name: "x" }, "get"],
  ] as const) {
    test(`a denial and a tool outside the scope arrive as structured results in the ${era} client`, async () => {
      const agent = startAgent(home, era, ["--actions", `demo.thing.${mine}`]);
      try {
        await agent.answer();
        agent.order({ do: "list" });
        assert.deepEqual(names(await agent.answer()), [...OWN, `demo__thing-${mine}`]);
        agent.order({ do: "call", name: `demo__thing-${other}`, input });
        const outside = await agent.answer();
        assert.equal(outside["isError"], true);
        assert.equal(structured(outside)["code"], "action_not_permitted");
        agent.order({ do: "call", name: `demo__thing-${mine}`, input });
        const [approval] = await home.approvals();
        await home.must(["deny", idOf(approval, "approval_id"), "--reason", "not today"]);
        const denied = structured(await agent.answer());
        assert.equal(denied["code"], "approval_denied");
        assert.match(String(denied["message"]), /not today/);
      } finally {
        await agent.end();
      }
    });
  }

  test("when an operator trusts another pack, both clients learn that the list changed", async () => {
    const agents = (["current", "legacy"] as const).map((era) => startAgent(home, era));
    try {
      for (const agent of agents) {
        await agent.answer();
        agent.order({ do: "list" });
        await agent.answer();
        agent.order({ do: "changed" });
      }
      await home.trustPack("more", demoPack(provider.origin).replace("pack: demo", "pack: more"));
      for (const agent of agents) {
        assert.deepEqual(await agent.answer(), { changed: true });
        agent.order({ do: "list" });
        assert.ok(names(await agent.answer()).includes("more__thing-get"));
      }
    } finally {
      for (const agent of agents) await agent.end();
    }
  });

  test("the session ends when the program behind the bridge is gone, even where its input is still held", async () => {
    const parent = spawn(process.execPath, [join(fixtures, "mcp-parent.ts"), GW, "mcp", "--home", home.folder], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    const bridge = Number(await new Promise((resolve) => parent.stderr.once("data", resolve)));
    try {
      const clientInfo = { name: "by hand", version: "1" };
      const say = (message: object): void =>
        void parent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
      const lines = createInterface(parent.stdout)[Symbol.asyncIterator]();
      say({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
      await within(lines.next(), 120_000, "the answer to initialize");
      say({ method: "notifications/initialized" });
      say({ id: 2, method: "tools/call", params: { name: "demo__thing-get", arguments: { id: "99" } } });
      const [approval] = await home.approvals();
      await home.approve(idOf(approval, "approval_id"));
      await within(lines.next(), 120_000, "the result");
      assert.equal((await home.status())["sessions_live"], 1);
      parent.kill("SIGKILL");
      await until("the session has ended", async () => (await home.status())["sessions_live"] === 0);
      await until("the bridge has ended", () => !isAlive(bridge));
    } finally {
      parent.stdin.destroy();
      if (isAlive(bridge)) process.kill(bridge, "SIGKILL");
    }
  });

  test("what asks for another protocol or sends strange options is refused with a code, and the plane goes on", async () => {
    const ask = async (head: string): Promise<string> => {
      const socket = connect(home.agentSocket);
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      socket.on("error", () => undefined);
      socket.write(`${head}\r\n\r\n`);
      await until("an answer", () => text.includes("\r\n\r\n"));
      socket.destroy();
      return text;
    };
    const upgrade = "Host: gw\r\nConnection: Upgrade";
    assert.match(
      await ask(`GET /mcp HTTP/1.1\r\n${upgrade}\r\nUpgrade: websocket`),
      /^HTTP\/1\.1 400 .*framing_invalid/s,
    );
    assert.match(await ask(`POST /mcp HTTP/1.1\r\n${upgrade}\r\nUpgrade: gw-mcp`), /^HTTP\/1\.1 404 /);
    const options = '{"wait_seconds":1,"wait_seconds":2}';
    assert.match(
      await ask(`GET /mcp HTTP/1.1\r\n${upgrade}\r\nUpgrade: gw-mcp\r\nGw-Run: ${options}`),
      /^HTTP\/1\.1 400 .*json_duplicate_member/s,
    );
    assert.match(await ask(`GET /v1/actions HTTP/1.1\r\n${upgrade}\r\nUpgrade: gw-mcp`), /^HTTP\/1\.1 200 /);
    assert.match(await ask("GET /mcp HTTP/1.1\r\nHost: gw"), /^HTTP\/1\.1 404 /);
    assert.match(await ask(`GET /mcp HTTP/1.1\r\n${upgrade}\r\nUpgrade: gw-mcp`), /^HTTP\/1\.1 101 /);
  });

  test("without a gateway the bridge says so and ends with its own exit", async () => {
    const { code, err, out } = await new Home(makeFolder()).run(["mcp"]);
    assert.equal(code, 3, err);
    assert.match(err, /^gateway_unreachable: /);
    assert.equal(out, "");
  });

  test("when the gateway goes away below a client, the bridge says so and what to do, with the same exit", async () => {
    const bridge = spawn(GW, ["mcp", "--home", home.folder], { stdio: ["pipe", "pipe", "pipe"] });
    const exited = new Promise<number | null>((resolve) => bridge.once("close", resolve));
    let said = "";
    bridge.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      said += chunk;
    });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "by hand", version: "1" } };
    bridge.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
    await within(createInterface(bridge.stdout)[Symbol.asyncIterator]().next(), 120_000, "the answer to initialize");
    await gateway?.end("SIGTERM");
    gateway = undefined;
    assert.equal(await within(exited, 120_000, "the bridge ends"), 3);
    assert.match(
      said,
      /^gateway_unreachable: The gateway ended this connection\. .*have the client start this server anew/,
    );
  });

  test("the log of all this verifies", async () => {
    const { code, out, err } = await home.verify(["--allow-unattested"]);
    assert.equal(code, 0, out + err);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
  } catch {
    return false;
  }
}

import assert from "node:assert/strict";
import { cpSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Exited,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  SECRET,
  startAgent,
  until,
  within,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

function answerPlainly(url: string, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, url }));
}

describe("a day: an agent asks, a person decides, the gateway acts, the log proves it", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.upByHand();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  /** `gw call` as an agent would run it; `decide` gets the id of the question that it raised. */
  async function callAs(
    args: readonly string[],
    decide: (id: string, card: Members) => Promise<unknown>,
  ): Promise<Exited> {
    const calling = home.start(["call", ...args]);
    const [approval] = await home.approvals();
    await decide(idOf(approval, "approval_id"), (approval?.["card"] ?? {}) as Members);
    return within(calling.exited, 120_000, "gw call ends");
  }

  test("a person approves, the provider gets the credential, the agent gets the answer: exit 0", async () => {
    const done = await callAs(["demo.thing.get", "id=42", "--json"], async (id, card) => {
      assert.match(
        String(card["authority"]),
        /node|gw|package|unsigned/i,
        "the card leads with who vouches for the image",
      );
      assert.equal((card["run"] as Members)["purpose_claimed"], "gw call demo.thing.get");
      const shown = (await home.must(["approvals"])).out.split("\n");
      assert.ok(shown[1]?.includes(String(card["authority"]).slice(0, 20)), shown.join("\n"));
      await home.approve(id);
    });
    assert.equal(done.code, 0, done.err);
    const result = JSON.parse(done.out) as Members;
    assert.deepEqual([result["outcome"], (result["response"] as Members)["status"]], ["success", 200]);
    assert.equal(provider.received.at(-1)?.headers.authorization, `Bearer ${SECRET}`);
    assert.equal(provider.received.at(-1)?.url, "/v1/things/42");
    assert.ok(!(done.out + done.err).includes(SECRET));
  });

  test("what can be called is listed with its arguments and a call to copy", async () => {
    const all = await home.run(["actions"]);
    assert.match(all.out, /^demo\.thing\.get {2}read {2}id$/m);
    const one = await home.run(["actions", "demo.thing.get"]);
    assert.match(one.out, /call it: gw call demo\.thing\.get id=TEXT/);
    const none = await home.run(["actions", "nothing.*"]);
    assert.deepEqual([none.code, codeOf(none)], [1, "not_found"]);
  });

  test("the answer alone is on standard output, what is said of it on standard error", async () => {
    const calling = home.start(["call", "demo.thing.get", "id=43"]);
    await until("it says that a person is asked", () => /^Waiting for a person: /m.test(calling.err()));
    await home.approve(String((await home.approvals())[0]?.["approval_id"]));
    const done = await within(calling.exited, 120_000, "gw call ends");
    assert.equal(done.code, 0, done.err);
    assert.equal((JSON.parse(done.out) as Members)["url"], "/v1/things/43");
    assert.match(done.err, /^success, status 200, call call_/m);
  });

  test("an answer that cannot be shown is described: a redirect by where it leads, bytes by their number and type", async (t) => {
    t.after(() => provider.answer((request, response) => answerPlainly(request.url, response)));
    provider.answer((_, response) => response.writeHead(301, { location: "https://elsewhere.example/moved" }).end());
    const redirected = await callAs(["demo.thing.get", "id=45"], (id) => home.approve(id));
    assert.match(redirected.err, /^error, status 301: redirect_refused, call call_/m);
    assert.match(redirected.err, /^ {2}It redirects to https:\/\/elsewhere\.example\/moved, .*: gw pack show demo$/m);
    provider.answer((_, response) =>
      response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from([0x89, 0x50, 0, 0xff])),
    );
    const bytes = await callAs(["demo.thing.get", "id=46"], (id) => home.approve(id));
    assert.deepEqual([bytes.code, bytes.out], [0, ""]);
    assert.match(bytes.err, /^ {2}The answer is 4 bytes of image\/png .*--json/m);
  });

  test("a provider that asks to be left alone: whoever waits is told until when, and what the wait is for when it ends", async (t) => {
    t.after(() => provider.answer((request, response) => answerPlainly(request.url, response)));
    let left = 1;
    provider.answer(({ url }, response) => {
      if (left-- > 0) response.writeHead(429, { "retry-after": "5" }).end();
      else answerPlainly(url, response);
    });
    /** In a run that was approved before. */
    const ask = async (...words: readonly string[]): Promise<Exited> => {
      const run = ["run", "--home", home.folder, "--actions", "demo.thing.get", "--", GW, "call", "demo.thing.get"];
      const running = home.start([...run, ...words]);
      await home.approve(idOf((await home.approvals())[0], "approval_id"));
      return within(running.exited, 120_000, "gw run ends");
    };
    const done = await ask("id=49");
    assert.equal(done.code, 0, done.err);
    const paused = /^The provider did not take it yet \(status 429\); it is sent again by itself at 20\S+Z\.$/m;
    assert.match(done.err, paused);

    left = Number.POSITIVE_INFINITY;
    const ended = await ask("id=50", "--wait", "2");
    assert.equal(ended.code, 6, ended.err);
    assert.match(ended.err, /^Still waiting for the provider \(call_\S+\), .*: gw activity show call_/m);
    assert.ok(!ended.err.includes("Still waiting for a person"), ended.err);
  });

  test("a call that is refused before anybody is asked does not say that it waits", async () => {
    await home.must(["credential", "disable", "demo-token"]);
    const done = await home.run(["call", "demo.thing.get", "id=44"]);
    assert.deepEqual([done.code, codeOf(done)], [1, "credential_disabled"]);
    assert.ok(!done.err.includes("Waiting"), done.err);
    await home.must(["credential", "enable", "demo-token"]);
  });

  test("a person denies, and the reason reaches the agent: exit 1 and the code", async () => {
    const sent = provider.received.length;
    const done = await callAs(["demo.thing.burn", "name=x"], (id) =>
      home.must(["deny", id, "--reason", "not on a Friday"]),
    );
    assert.deepEqual([done.code, codeOf(done)], [1, "approval_denied"]);
    assert.match(done.err, /not on a Friday/);
    assert.equal(provider.received.length, sent);
  });

  test("nobody answers in the time given: exit 6, and the question goes with the process", async () => {
    const done = await home.run(["call", "demo.thing.get", "id=7", "--wait", "0", "--json"]);
    assert.equal(done.code, 6, done.err);
    assert.equal((JSON.parse(done.out) as Members)["state"], "pending");
    await until("it is withdrawn", async () => (await home.status())["approvals_pending"] === 0);
  });

  test("an agent may open a connection for each request: the process is the caller, not the connection", async () => {
    const plane = openPlane(home.agentSocket);
    const once = { connection: "close" };
    const asked = await plane.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] }, once);
    const run = idIn(asked, "run_id");
    assert.equal((await plane.ask("GET", `/v1/runs/${run}`, undefined, once)).status, 202);
    await home.approve(idIn(asked, "approval_id"));
    assert.equal((await plane.ask("GET", `/v1/runs/${run}`, undefined, once)).body["state"], "open");
    const input = { action: "demo.thing.get", input: { id: "1" } };
    const reply = await plane.ask("POST", `/v1/runs/${run}/calls`, input, { ...once, prefer: "wait=30" });
    assert.equal(reply.body["outcome"], "success", reply.text);
    plane.close();
  });

  test("and is told how its run and its calls ended, once its session is over too", async () => {
    const plane = openPlane(home.agentSocket);
    const ask = (method: "GET" | "POST", path: string, body?: Members, wait = 0) =>
      plane.ask(method, path, body, { connection: "close", ...(wait === 0 ? {} : { prefer: `wait=${wait}` }) });
    const open = (more: Members = {}) =>
      ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"], ...more });
    const get = (run: string) => ask("POST", `/v1/runs/${run}/calls`, { action: "demo.thing.get", input: { id: "1" } });

    const refused = await open({ call_follows: true });
    const pending = await get(idIn(refused, "run_id"));
    await home.must(["deny", idIn(pending, "approval_id"), "--reason", "not today"]);
    const denied = await ask("GET", `/v1/calls/${idIn(pending, "call_id")}`);
    assert.deepEqual([denied.status, denied.body["code"]], [403, "approval_denied"], denied.text);
    assert.equal((await ask("GET", `/v1/runs/${idIn(refused, "run_id")}`)).body["state"], "ended");

    const gate = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    provider.answer(async (_request, response) => {
      came.resolve();
      await gate.promise;
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    const asked = await open();
    await home.approve(idIn(asked, "approval_id"));
    const sent = await get(idIn(asked, "run_id"));
    await came.promise;
    const run = await ask("GET", `/v1/runs/${idIn(asked, "run_id")}`);
    await home.must(["revoke", idIn(run, "session_id")]);
    gate.resolve();
    const done = await ask("GET", `/v1/calls/${idIn(sent, "call_id")}`, undefined, 30);
    assert.equal(done.body["outcome"], "success", done.text);
    assert.equal((await get(idIn(asked, "run_id"))).body["code"], "session_ended");
    plane.close();
  });

  test("a provider that refuses is exit 1, one that goes silent on a write is exit 5 and says not to repeat it", async () => {
    provider.answer((_request, response) => response.writeHead(404, { "content-type": "application/json" }).end("{}"));
    const refused = await callAs(["demo.thing.get", "id=none"], (id) => home.approve(id));
    assert.equal(refused.code, 1, refused.out);
    provider.answer((_request, response) => response.destroy());
    const silent = await callAs(["demo.thing.make", "name=lost", "--json"], (id) => home.approve(id));
    assert.equal(silent.code, 5, silent.out);
    const { outcome, retry_allowed, guidance } = JSON.parse(silent.out) as Members;
    assert.deepEqual([outcome, retry_allowed], ["unknown", false]);
    assert.match(String(guidance), /may have happened/);
  });

  test("the agent has no secret in its environment, its arguments or the memory it can read", async () => {
    provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
    const agent = await startAgent(home);
    try {
      const run = await openRun(home, agent, ["demo.thing.get", "demo.thing.make"]);
      for (const name of ["a", "b", "c"]) {
        const reply = await call(agent, run, "demo.thing.make", { name });
        assert.equal(reply.body["outcome"], "success", reply.text);
      }
      assert.equal(readFileSync(`/proc/${agent.pid}/environ`, "utf8"), "", "an empty environment is enough");
      assert.ok(!readFileSync(`/proc/${agent.pid}/cmdline`, "utf8").includes(SECRET));
      const own = Buffer.from("demo.thing.make");
      const { bytes, found } = searchMemory(agent.pid, [Buffer.from(SECRET), own]);
      assert.ok(bytes > 1_000_000, `${bytes} bytes were searched`);
      assert.deepEqual(found, [false, true], "what it sent is found, the secret is not");
      for (const [pid, name] of [gateway.pid, gateway.child.pid].flatMap(
        (pid) =>
          [
            [pid, "mem"],
            [pid, "environ"],
          ] as const,
      )) {
        assert.throws(() => readFileSync(`/proc/${pid}/${name}`), { code: /EACCES|EPERM/ });
      }
    } finally {
      agent.close();
    }
  });

  test("the gateway runs with its freed memory cleared and its young memory bounded", () => {
    const flags = readFileSync(`/proc/${gateway.pid}/cmdline`, "latin1").split("\0");
    for (const flag of ["--clear-free-memory", "--max-semi-space-size=64"]) assert.ok(flags.includes(flag), flag);
  });

  test("no file of the home holds the secret in a form that can be read", () => {
    const secret = Buffer.from(SECRET);
    const forms = [SECRET, secret.toString("base64"), secret.toString("base64url"), secret.toString("hex")];
    const files = readdirSync(home.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    assert.ok(files.length >= 6, files.map(({ name }) => name).join());
    for (const { parentPath, name } of files) {
      const bytes = readFileSync(join(parentPath, name));
      for (const form of forms) assert.ok(!bytes.includes(form), `${name} holds it`);
    }
  });

  test("locked: exit 4 and the code, sessions end, and the denial is recorded", async (t) => {
    const agent = openPlane(home.agentSocket);
    const run = await openRun(home, agent);
    await home.must(["lock", "--reason", "lunch"]);
    const sent = provider.received.length;
    assert.equal((await home.run(["status"])).code, 4);
    const refused = await home.run(["call", "demo.thing.get", "id=1"]);
    assert.deepEqual([refused.code, codeOf(refused)], [4, "gateway_locked"]);
    const ended = await call(agent, run, "demo.thing.get", { id: "1" });
    assert.equal(ended.body["code"], "gateway_locked", ended.text);
    agent.close();
    assert.equal(provider.received.length, sent);
    await home.must(["unlock"]);
    assert.equal((await home.run(["status"])).code, 0);
    if (!(await home.knows("audit"))) return t.skip("gw audit is not there yet: the rest held");
    const denied = (await home.events("call_denied")).filter(({ code }) => code === "gateway_locked");
    assert.ok(denied.length >= 2, JSON.stringify(denied));
  });

  test("the journals show the day", async (t) => {
    if (!(await home.knows("activity"))) return t.skip("gw activity is not there yet");
    const activity = JSON.parse((await home.must(["activity", "--json"])).out) as readonly Members[];
    const first = activity.find(({ kind, action }) => kind === "call" && action === "demo.thing.get");
    assert.deepEqual(
      [first?.["outcome"], first?.["status"], first?.["credential_label"]],
      ["succeeded", 200, "demo-token"],
    );
    const codes = activity.filter(({ kind }) => kind === "denial").map(({ code }) => code);
    assert.ok(codes.includes("approval_denied"), JSON.stringify(codes));
    assert.ok(activity.some(({ kind, outcome }) => kind === "call" && outcome === "unknown"));
    const sessions = JSON.parse((await home.must(["sessions", "--json"])).out) as readonly Members[];
    assert.ok(sessions.some(({ approved_by, end_reason }) => approved_by === "ada" && end_reason === "process_exited"));
    assert.ok(!JSON.stringify([activity, sessions]).includes(SECRET));
  });

  test("gw audit verify passes offline, on a copy of the log folder alone", async (t) => {
    if (!(await home.knows("audit"))) return t.skip("gw audit is not there yet");
    assert.equal((await gateway.end("SIGTERM")).code, 0, "a clean stop");
    const copy = join(makeFolder(), "log");
    cpSync(join(home.folder, "audit"), copy, { recursive: true });
    const nowhere = new Home(makeFolder());
    const whole = await nowhere.run(["audit", "verify", "--log", copy, "--json"]);
    assert.equal(whole.code, 0, whole.out + whole.err);
    const [segment = ""] = readdirSync(copy).filter((name) => name.endsWith(".gwlog"));
    const bytes = readFileSync(join(copy, segment));
    bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 4, bytes.length >> 1);
    cpSync(copy, `${copy}-flipped`, { recursive: true });
    writeFileSync(join(`${copy}-flipped`, segment), bytes);
    assert.equal((await nowhere.run(["audit", "verify", "--log", `${copy}-flipped`, "--json"])).code, 1);
    assert.equal((await nowhere.run(["audit", "verify", "--log", `${copy}-absent`, "--json"])).code, 2);
  });
});

/** Looks for each of `wanted` in everything of a process that its own user may read. */
function searchMemory(
  pid: number,
  wanted: readonly Buffer[],
): { readonly bytes: number; readonly found: readonly boolean[] } {
  const found = wanted.map(() => false);
  const memory = openSync(`/proc/${pid}/mem`, "r");
  let bytes = 0;
  for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
    const [, from = "0", to = "0", name = ""] = /^([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \S+\s*(.*)$/.exec(line) ?? [];
    if (name.startsWith("/") || name.startsWith("[v")) continue;
    const block = Buffer.alloc(4_194_304);
    for (let at = BigInt(`0x${from}`); at < BigInt(`0x${to}`); at += BigInt(block.length)) {
      const rest = Number(BigInt(`0x${to}`) - at);
      let read = 0;
      try {
        read = readSync(memory, block, 0, Math.min(rest, block.length), at);
      } catch {
        // A page that the system does not hand out, such as a guard.
      }
      bytes += read;
      wanted.forEach((one, index) => {
        if (block.subarray(0, read).includes(one)) found[index] = true;
      });
    }
  }
  return { bytes, found };
}

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openPty } from "../src/adapters/platform/linux/pty.ts";
import {
  asUser,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  type Started,
  start,
  until,
  within,
} from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

/**
 * `gw run` with the real programs: a gateway, a wrapper, shells below it, and callers that are processes of their own.
 */
let home: Home;
let gateway: Gateway;
let provider: TestProvider;
let folder: string;
const skip = asUser;

before(async () => {
  if ("skip" in skip) return;
  folder = makeFolder();
  provider = await startProvider();
  home = await new Home(folder).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack("demo", demoPack(provider.origin));
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  await provider?.close();
});

const callThing = `${GW} call demo.thing.get id=1 --json`;

/** The home comes first: what follows `--` is the command's. */
function startRun(args: readonly string[]): Started {
  return start([GW, "--home", home.folder, "run", ...args], { env: home.environment() });
}

/** The wrapper around a shell script. */
function wrap(script: string, extra: readonly string[] = []): Started {
  return startRun(["--actions", "demo.thing.get", ...extra, "--", "sh", "-c", script]);
}

/** Approves the one question that waits, and gives its card. */
async function approveNext(): Promise<string> {
  const [question] = await home.approvals();
  await home.approve(idOf(question, "approval_id"));
  return JSON.stringify(question);
}

async function summaryOf({ exited }: Started): Promise<{ code: number | null; err: string; out: string }> {
  return within(exited, 120_000, "the wrapper ends");
}

test("what the wrapper starts acts without a card of its own, and a double fork stays inside", skip, async () => {
  const marker = join(folder, "forked");
  const script = `${callThing}; (setsid sh -c '${callThing} > ${marker}.part; mv ${marker}.part ${marker}' >/dev/null 2>&1 &); while [ ! -e ${marker} ]; do sleep 0.1; done; exit 7`;
  const run = wrap(script, ["--purpose", "to see who is inside"]);
  const card = await approveNext();
  assert.match(card, /anything that this program starts may act/);
  assert.ok(card.includes(JSON.stringify({ command_claimed: ["sh", "-c", script] }).slice(1, -1)), card);
  const { code, out, err } = await summaryOf(run);
  assert.equal(code, 7, err);
  assert.equal((JSON.parse(out) as { outcome?: string }).outcome, "success");
  assert.equal((JSON.parse(readFileSync(marker, "utf8")) as { outcome?: string }).outcome, "success");
  assert.match(err, /2 calls: 2 success, 0 error, 0 denied, 0 unknown/);
  assert.equal(Number((await home.status())["approvals_pending"]), 0);
});

test(
  "an MCP bridge below the wrapper acts in its run, offers what was granted there, and asks for no card",
  skip,
  async () => {
    const client = join(import.meta.dirname, "fixtures", "mcp-client.mjs");
    const run = wrap(`${process.execPath} ${client} ${GW} demo__thing-get '{"id":"1"}'; ${callThing} >/dev/null`);
    await approveNext();
    const { code, out, err } = await summaryOf(run);
    assert.equal(code, 0, err);
    const { tools, result } = JSON.parse(out) as { tools: readonly string[]; result: { outcome?: string } };
    assert.equal(result.outcome, "success");
    assert.ok(tools.includes("demo__thing-get"));
    assert.ok(!tools.includes("demo__thing-make"), "what the wrapper was not granted is not offered");
    assert.match(err, /2 calls: 2 success/);
    assert.equal(Number((await home.status())["approvals_pending"]), 0);
  },
);

test("a process that is not below the wrapper gets nothing from its run id", skip, async () => {
  const marker = join(folder, "run-id");
  const done = join(folder, "run-id-done");
  const run = wrap(
    `echo $GW_RUN > ${marker}.part; mv ${marker}.part ${marker}; while [ ! -e ${done} ]; do sleep 0.1; done`,
  );
  await approveNext();
  await until("the command runs", () => existsSync(marker));
  const id = readFileSync(marker, "utf8").trim();
  const outside = await home.run(["call", "demo.thing.get", "id=1"], {
    env: { ...home.environment(), GW_RUN: id, GW_HOME: home.folder },
  });
  assert.equal(outside.code, 1);
  assert.match(outside.err, /^not_found: /);
  const plane = openPlane(home.agentSocket);
  const reply = await plane.ask("POST", `/v1/runs/${id}/calls`, { action: "demo.thing.get", input: { id: "1" } });
  assert.equal(reply.status, 404);
  plane.close();
  writeFileSync(done, "");
  assert.match((await summaryOf(run)).err, /0 calls: /);
});

test("an image that was not shown asks once, and its card names the image", skip, async () => {
  const other = join(folder, "other-node");
  copyFileSync(process.execPath, other);
  // One byte after its end makes another image of the same program.
  appendFileSync(other, "\0");
  chmodSync(other, 0o755);
  const agent = join(folder, "agent.mjs");
  writeFileSync(
    agent,
    `import { request } from "node:http";
const body = JSON.stringify({ action: "demo.thing.get", input: { id: "1" } });
const sent = request({ socketPath: process.env.GW_HOME + "/agent.sock", method: "POST", path: "/v1/runs/" + process.env.GW_RUN + "/calls",
  headers: { prefer: "wait=60", "content-type": "application/json", "content-length": body.length } }, (r) => { console.log(r.statusCode); r.resume(); });
sent.end(body);`,
  );
  const run = wrap(`${other} ${agent}; ${other} ${agent}`);
  await approveNext();
  const card = await approveNext();
  assert.match(card, /no card of this run has shown this image \(sha256:[0-9a-f]{64}\)/);
  assert.match(card, /other-node/);
  const { out, err } = await summaryOf(run);
  assert.equal(out, "200\n200\n");
  assert.match(err, /2 calls: 2 success/);
});

test("a command that cannot start is refused before anybody is asked", skip, async () => {
  const missing = await startRun(["--", "no-such-program-anywhere"]).exited;
  assert.equal(missing.code, 127);
  assert.match(missing.err, /^command_not_found: /);
  const plain = join(folder, "plain.txt");
  writeFileSync(plain, "text", { mode: 0o600 });
  const plainly = await startRun(["--", plain]).exited;
  assert.equal(plainly.code, 126);
  assert.match(plainly.err, /^command_not_executable: /);
  assert.equal((await startRun(["--", folder]).exited).code, 126);
  assert.equal((await startRun([]).exited).code, 2);
  assert.equal(Number((await home.status())["approvals_pending"]), 0);
});

test(
  "a denied run starts nothing and says why, and stands in Activity once, with what it was to do",
  skip,
  async () => {
    const marker = join(folder, "must-not-be");
    // A scope of its own: the same is not asked about again for a while after a no.
    const run = startRun(["--actions", "demo.thing.make", "--", "touch", marker]);
    const [question] = await home.approvals();
    await home.must(["deny", idOf(question, "approval_id"), "--reason", "not today"]);
    const { code, err } = await summaryOf(run);
    assert.equal(code, 1);
    assert.match(err, /approval_denied: .*not today/);
    assert.equal(existsSync(marker), false);
    const activity = JSON.parse((await home.must(["activity", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      activity
        .filter(({ code: why }) => why === "approval_denied")
        .map(({ kind, action, run_id }) => [kind, action, run_id]),
      [["denial", "demo.thing.make", question?.["run_id"]]],
    );
  },
);

test("a signal to the wrapper reaches the command, and its status comes back", skip, async () => {
  // As early as can be: the command itself sends it, before it does anything else.
  const run = wrap("trap 'exit 42' TERM; kill -TERM $PPID; while :; do sleep 0.1; done", ["--minutes", "2"]);
  await approveNext();
  assert.equal((await summaryOf(run)).code, 42);
});

test("a command that dies of a signal ends the wrapper as a shell would say it", skip, async () => {
  const run = wrap("kill -KILL $$");
  await approveNext();
  const { code, err } = await summaryOf(run);
  assert.equal(code, 128 + 9);
  assert.match(err, /ended with SIGKILL/);
});

test("a wrapper that is killed takes the approval of what it started with it", skip, async () => {
  const [ready, go, result] = [join(folder, "k-ready"), join(folder, "k-go"), join(folder, "k-result")];
  const run = wrap(
    `${callThing} >/dev/null; touch ${ready}; while [ ! -e ${go} ]; do sleep 0.1; done; ${GW} call demo.thing.get id=1 > ${result}.part 2>&1; mv ${result}.part ${result}`,
  );
  await approveNext();
  await until("the first call is done", () => existsSync(ready));
  run.child.kill("SIGKILL");
  writeFileSync(go, "");
  await until("the orphan has tried", () => existsSync(result));
  assert.match(readFileSync(result, "utf8"), /^(not_found|session_ended|run_ended): /);
  const ended = await home.events("session_ended");
  assert.ok(ended.some(({ end_reason }) => end_reason === "process_exited"));
});

test("the command gets back the file mode that it would have had, and none of our handles", skip, async () => {
  const run = wrap("umask; ls /proc/self/fd | wc -l");
  await approveNext();
  const [mask, handles] = (await summaryOf(run)).out.trim().split("\n");
  assert.equal(Number.parseInt(mask ?? "", 8), process.umask());
  assert.ok(Number(handles) <= 5, handles);
});

test("orphans are buried while the wrapper lives", skip, async () => {
  const zombies = `ps -o stat= --ppid $PPID | grep -c '^Z'`;
  const run = wrap(
    `for i in 1 2 3 4 5; do (sh -c 'exit 0' & exec true); (setsid true &); done; sleep 1; ${zombies}; true`,
  );
  await approveNext();
  assert.equal((await summaryOf(run)).out.trim(), "0");
});

const terminal = "skip" in skip ? skip : noTmux === null ? {} : { skip: noTmux };
test(
  "with a terminal the command has one of its own, with its size, input and keys, and what goes elsewhere goes there",
  terminal,
  async () => {
    const inner = `echo apart >&2; tty; stty size; read line; echo "read:$line"; trap 'echo interrupted; exit 5' INT; echo waiting; while :; do sleep 0.1; done`;
    const script = join(folder, "inner.sh");
    writeFileSync(script, inner);
    const errors = join(folder, "errors");
    const run = `${GW} run --home ${home.folder} --actions demo.thing.get -- sh ${script} 2> ${errors}`;
    const command = `tty; ${run}; echo "exit:$?"; sleep 60`;
    const pane = openPane(folder, command, home.environment(), { columns: 90, rows: 30 });
    try {
      await approveNext();
      await pane.shows("30 90");
      const terminals = pane.rows().filter((row) => row.startsWith("/dev/pts/"));
      assert.equal(new Set(terminals).size, 2, pane.text());
      pane.write("hello");
      pane.type("Enter");
      await pane.shows("read:hello");
      await pane.shows("waiting");
      pane.type("C-c");
      await pane.shows("interrupted");
      await pane.shows("exit:5");
      assert.match(readFileSync(errors, "utf8"), /^apart$/m);
      assert.ok(!pane.text().includes("apart"), pane.text());
    } finally {
      pane.close();
    }
  },
);

test("what a command wrote is shown to its end, however slowly a terminal takes it", skip, async () => {
  const screen = openPty();
  const words = [GW, "run", "--home", home.folder, "--actions", "demo.thing.get", "--", "seq", "1", "6000"];
  const onScreen = ["-c", 'exec 0<>"$0" 1>&0 2>&0; exec "$@"', screen.path, ...words];
  const run = spawn("/bin/sh", onScreen, { env: home.environment(), detached: true, stdio: "ignore" });
  const exited = once(run, "exit");
  let shown = "";
  screen.stream.on("data", (bytes: Buffer) => {
    shown += bytes.toString("utf8");
    screen.stream.pause();
    setTimeout(() => screen.stream.resume(), 400);
  });
  screen.stream.on("error", () => undefined);
  await approveNext();
  await within(exited, 120_000, "it ends");
  await until("the summary is there", () => shown.includes("0 calls"));
  assert.match(shown, /\s6000\s/, shown.slice(-300));
});

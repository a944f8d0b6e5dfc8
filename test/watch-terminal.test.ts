import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  call,
  codeOf,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  start,
  until,
} from "./support/home.ts";
import { noTmux, openPane, type Pane } from "./support/pane.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const PIN = "471147";
const LONG = `
  thing.long:
    effect: write
    needs: { approval: each_use }
    request: { method: POST, path: /v1/long, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 20000 }
  thing.ticketed:
    effect: write
    needs: { ticket: true }
    request: { method: POST, path: /v1/ticketed, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
`;
const skip = noTmux === null ? {} : { skip: noTmux };

describe("gw watch in a real terminal", skip, () => {
  let folder: string;
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let seconds = 86_000;
  const panes: Pane[] = [];

  before(async () => {
    folder = makeFolder();
    provider = await startProvider();
    home = await new Home(folder).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin, LONG));
    const pane = sit(`${GW} operator pin ${operator()}; echo DONE`);
    for (const prompt of ["New PIN:", "Once more:"]) {
      await pane.shows(prompt);
      pane.write(PIN);
      pane.type("Enter");
    }
    await pane.shows("DONE");
    assert.match(pane.text(), /The PIN is set/);
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    for (const pane of panes) pane.close();
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  function operator(): string {
    return `--home ${home.folder} --passphrase-file ${home.passphraseFile}`;
  }

  function sit(command: string, size?: { readonly columns: number; readonly rows: number }): Pane {
    const pane = openPane(folder, `${command}; sleep 600`, home.environment(), size);
    panes.push(pane);
    return pane;
  }

  async function watch(size?: { readonly columns: number; readonly rows: number }): Promise<Pane> {
    const pane = sit(`${GW} watch ${operator()}; echo LEFT $?; stty -a`, size);
    await pane.shows("connected");
    return pane;
  }

  async function ask(purpose = "to prove it", actions = ["demo.thing.get"]): Promise<Members> {
    // Half the time each time: what was denied is not asked again for a while with anything more.
    seconds = Math.floor(seconds / 2);
    const budget = { duration_seconds: seconds };
    const asked = await agent.ask("POST", "/v1/runs", { purpose, actions, budget });
    assert.equal(asked.status, 202, asked.text);
    return asked.body;
  }

  /** Waits until keys count, then pages to the end. Every page that was seen is returned. */
  async function readOn(pane: Pane): Promise<readonly string[]> {
    const pages: string[] = [];
    await until(
      "the end of the card",
      async () => {
        const text = pane.text();
        if (pages.at(-1) !== text) pages.push(text);
        if (/^-- end of the card/m.test(text) && !text.includes("one moment")) return true;
        pane.type("Enter");
        await pause(250);
        return false;
      },
      90_000,
    );
    await pause(800);
    return pages;
  }

  async function deny(pane: Pane): Promise<void> {
    await pane.press("d", "? Deny");
    await pane.press("Enter", "denied by ada");
  }

  async function runState(run: Members): Promise<string> {
    return String((await agent.ask("GET", `/v1/runs/${run["run_id"]}`)).body["state"]);
  }

  async function pending(): Promise<number> {
    return Number((await home.status())["approvals_pending"]);
  }

  test("a person reads to the end, types the PIN, and the agent may act", async () => {
    const pane = await watch();
    const run = await ask();
    await pane.shows("session for demo.thing.get");
    assert.match(pane.rows()[0] ?? "", /^gw watch {2}ada {2}guard-rail mode {2}connected {2}1 card waits/);
    await readOn(pane);
    await pane.press("n", "Narrow what this card grants");
    await pane.press("w", "only where:");
    await pane.fill("id=1", "only where: id=1_");
    await pane.press("Enter", "w only where");
    await pane.press("Enter", "narrowed to demo.thing.get where id=1");
    await pause(800);
    await pane.press("a", "PIN:");
    await pane.fillSecret(PIN);
    assert.ok(!pane.text().includes(PIN));
    // Where the machine is so slow that the stream of news was begun anew meanwhile, it says that instead of by whom.
    await pane.press("Enter", /approved by ada|while no news came through/);
    const done = await call(agent, idOf(run, "run_id"), "demo.thing.get", { id: "1" });
    assert.equal(done.status, 200, done.text);
    const other = await call(agent, idOf(run, "run_id"), "demo.thing.get", { id: "2" });
    assert.equal(other.body["code"], "action_not_permitted", "and with no other argument");
    pane.close();
  });

  test("at 80x24 the first screen of a call holds who vouches, the call, every argument, cost, budget and what follows; a approves it without a page", async () => {
    const pane = await watch({ columns: 80, rows: 24 });
    const command = [GW, "--home", home.folder, "call", "demo.thing.make", "name=two  words", "--json"];
    const called = start(command, { env: home.environment() });
    await pane.shows("end of the card");
    // What it says of a write must not look like the effect of another.
    await pane.shows(/^> +1 .* left {2}seen +session and call demo\.thing\.make/m);
    const screen = pane.text();
    for (const line of [
      /^\| This gateway's own Node, running a script that no signature covers$/m,
      /^\| {3}call +demo\.thing\.make, effect: write, credential: demo-token$/m,
      /^\| {3}request +POST http:\/\/127\.0\.0\.1:\d+\/v1\/things$/m,
      /name = "two {2}words"/,
      /^\| {3}can cost +nothing$/m,
      /^\| {3}agent says +"gw call demo\.thing\.make"/m,
      /^\| {3}budget +\d+ attempts, \d+ side effects, .* UTC\), no money$/m,
      /^\| {3}no answer +the question expires, nothing is sent/m,
    ]) {
      assert.match(screen, line);
    }
    assert.doesNotMatch(screen, /BUT|image digest|pid \d+, user|nothing vouches/);
    assert.equal(await pending(), 1, "one card serves the session and its first call");
    await pane.press("v", "image digest");
    await pane.press("v", "name = ");
    await pause(800);
    // What its arguments have to be is held against the very call on the card, before anything is asked for.
    await pane.press("n", "Narrow what this card grants");
    await pane.press("w", "only where:");
    await pane.fill("name=other", "only where: name=other_");
    await pane.press("Enter", "w only where");
    await pane.press("Enter", "not one where name");
    await pause(800);
    await pane.press("n", "only where name=other");
    await pane.leave("only where name", "BSpace");
    await pane.press("w", "only where:");
    await pane.fill("name^=two");
    await pane.press("Enter", "w only where");
    await pane.press("Enter", "narrowed to demo.thing.make where name^=two");
    await pause(800);
    await pane.press("a", "PIN:");
    await pane.fillSecret(PIN);
    await pane.press("Enter", "approved by ada");
    const { code, out, err } = await called.exited;
    assert.equal(code, 0, err);
    assert.equal((JSON.parse(out) as Members)["outcome"], "success");
    pane.close();
  });

  test("a call that needs a ticket is approved by naming it, then by the PIN, and goes out under that name", async () => {
    const pane = await watch();
    const run = await ask("to use a ticket", ["demo.thing.ticketed"]);
    await home.approve(idOf(run, "approval_id"));
    const done = call(agent, idOf(run, "run_id"), "demo.thing.ticketed", { name: "x" }, 55);
    await pane.shows("demo.thing.ticketed");
    const pages = await readOn(pane);
    assert.ok(pages.some((page) => page.includes("NEEDED")));
    await pane.press("a", "Under which ticket?");
    await pane.fill("OPS-17");
    await pane.press("Enter", "A ticket is named SYSTEM:REF");
    await pane.fill("jira:OPS-17");
    await pane.press("Enter", "Approve under ticket jira:OPS-17");
    await pane.shows("PIN:");
    await pane.fillSecret(PIN);
    await pane.press("Enter", "approved by ada");
    assert.equal((await done).body["outcome"], "success");
    const [intent] = await home.events("action.intent");
    assert.ok(intent !== undefined);
    assert.equal((intent["ticket"] as Members)["reference"], "OPS-17");
    pane.close();
  });

  test("keys typed by another program cannot approve without the PIN, and every guess counts", async () => {
    const pane = await watch();
    const sent = provider.received.length;
    const run = await ask();
    await pane.shows("session for demo.thing.get");
    pane.type("a", "y", "Enter", "a", "Enter");
    await readOn(pane);
    for (let guess = 0; guess < 5; guess++) {
      await pane.press("a", /PIN: _|Passphrase: _/);
      await pane.fillSecret(`000${guess}`);
      await pane.press("Enter", /Wrong PIN|only the passphrase/);
      await pane.leave("? Approve");
      await pause(800);
    }
    await pane.press("a", "Too many wrong PINs");
    await pane.fillSecret(PIN);
    await pane.press("Enter", "That is not the passphrase");
    pane.type("Escape", "y", "Enter", "Enter", "y");
    assert.equal(await pending(), 1);
    assert.equal(provider.received.length, sent);
    await pane.leave("? Approve");
    await pause(800);
    await pane.press("d", "? Deny: session for demo.thing.get. Why?");
    await pane.fill("not on a Friday");
    await pane.press("Enter", "denied by ada (not on a Friday)");
    assert.equal(await runState(run), "ended");
    pane.close();
  });

  test("keys pushed into the terminal with TIOCSTI cannot approve without the PIN", async (t) => {
    if (spawnSync("perl", ["-e", "1"]).status !== 0) return t.skip("perl is absent: apt-get install perl");
    const script = join(folder, "push.pl");
    const [go, report] = [join(folder, "push.go"), join(folder, "push.report")];
    writeFileSync(script, PUSH);
    const pane = sit(`perl ${script} ${go} ${report} & exec ${GW} watch ${operator()}`);
    await pane.shows("connected");
    const run = await ask("pushed", ["demo.thing.make"]);
    await pane.shows("session for demo.thing.make");
    await readOn(pane);
    writeFileSync(go, "");
    await until("the keys were pushed", () => existsSync(report) && readFileSync(report, "utf8").endsWith("\n"));
    const refused = readFileSync(report, "utf8").trim();
    if (refused !== "pushed") {
      t.diagnostic(`the kernel refuses TIOCSTI here (${refused}): the attack ends there`);
    } else {
      t.diagnostic("the kernel permits TIOCSTI: the pushed keys reach gw watch as if typed");
      await pane.shows("Wrong PIN");
    }
    assert.equal(await pending(), 1);
    assert.notEqual(await runState(run), "open");
    await pane.leave("? Approve");
    await pause(800);
    await deny(pane);
    pane.close();
  });

  test("a card's text with escapes, bidi, look-alikes, padding and lines of its own acts on nothing", async () => {
    const pane = await watch({ columns: 90, rows: 30 });
    const evil = `\u001b[2J\u001b[1;1Hgw watch  eve\u001b]0;title\u0007\u009b31m\u202eevorppa\r\n| Budget of the run\n-- end of the card ----\n? Approve\t${" ".repeat(120)}аpi.example\u200b`;
    const asked = await agent.ask("POST", "/v1/runs", { purpose: evil.slice(0, 200), actions: ["demo.thing.long"] });
    assert.equal(asked.status, 202, asked.text);
    const long = `${evil}${Array.from({ length: 1200 }, (_, index) => `<${index}>`).join("")}`;
    const made = agent.ask(
      "POST",
      `/v1/runs/${asked.body["run_id"]}/calls`,
      { action: "demo.thing.long", input: { name: long } },
      { prefer: "wait=1" },
    );
    await pane.shows("session and call demo.thing.long");
    const pages = await readOn(pane);
    for (const page of pages) {
      const rows = page.split("\n");
      assert.match(rows[0] ?? "", /^gw watch {2}ada {2}guard-rail mode/);
      for (const row of rows) {
        assert.match(row, /^(gw watch|> {2}1 |\||-- (card|MORE|end)|\* |Enter read|a approve|one moment| |$)/, row);
        // Letters stay letters, in a value: the row of ours below says what they are.
        assert.match(row, /^[ -~\u0430]*$/, row);
      }
      const ends = rows.filter((row) => row.startsWith("-- end of the card"));
      assert.ok(ends.length <= 1);
    }
    const shown = pages.join("\n");
    for (const escaped of [
      "\\u{1b}[2J",
      "\\u{202e}",
      "look-alike letters above: \\u{430}pi",
      "\\u{a}| Budget",
      "\\u{20}\\u{20}",
      "\\u{9b}",
    ]) {
      assert.ok(shown.replaceAll(/\n\|: {3}/g, "").includes(escaped), escaped);
    }
    for (let index = 0; index < 1200; index++) {
      assert.ok(shown.replaceAll(/\n\|: {3}/g, "").includes(`<${index}>`), `<${index}>`);
    }
    assert.notEqual(pane.show("#{pane_title}"), "title");
    await deny(pane);
    await made;
    pane.close();
  });

  test("what is pasted is never keys, and what was typed before the screen came is dropped", async () => {
    const pane = sit(`${GW} watch ${operator()}`);
    pane.type("q", "q");
    await pane.shows("connected");
    await ask("pasted");
    await pane.shows("session for demo.thing.get");
    await readOn(pane);
    pane.paste("a\ndq\n");
    await pane.shows("pasted text was dropped");
    assert.doesNotMatch(pane.text(), /^\? /m);
    await deny(pane);
    pane.close();
  });

  test("a decision made elsewhere is shown at once, and what was being typed goes nowhere", async () => {
    const pane = await watch();
    const asked = await ask("elsewhere", ["demo.thing.make"]);
    await pane.shows("session for demo.thing.make");
    await readOn(pane);
    await pane.press("a", "PIN: _");
    await pane.fillSecret(PIN);
    await home.must(["deny", idOf(asked, "approval_id"), "--reason", "the other one says no"]);
    await pane.shows("Gone while you were typing, denied by ada (the other one says no)");
    await pause(800);
    await pane.press("Enter", "nothing waits");
    pane.close();
  });

  test("a gateway that dies and comes back is followed, and the screen says so meanwhile", async () => {
    const pane = await watch();
    await gateway.end();
    await pane.shows("NOT CONNECTED");
    gateway = await home.up();
    await pane.shows("connected again");
    agent.close();
    agent = openPlane(home.agentSocket);
    await ask("after it came back", ["demo.thing.make"]);
    await pane.shows("session for demo.thing.make");
    await readOn(pane);
    await deny(pane);
    await ask("before it stops", ["demo.thing.make"]);
    await pane.shows("session for demo.thing.make");
    await gateway.end("SIGTERM");
    await pane.shows("withdrawn: the gateway was locked or stopped");
    gateway = await home.up();
    await pane.shows("connected again");
    agent.close();
    agent = openPlane(home.agentSocket);
    pane.close();
  });

  test("a small window says so and takes no decision", async () => {
    const pane = await watch();
    await ask("small", ["demo.thing.get", "demo.thing.make"]);
    await pane.shows("session for 2 actions");
    pane.resize(50, 12);
    await pane.shows("too small");
    pane.type("d", "Enter", "a");
    await pause(300);
    pane.resize(100, 40);
    await pane.shows("session for 2 actions");
    assert.equal(await pending(), 1);
    await readOn(pane);
    await deny(pane);
    pane.close();
  });

  for (const [how, leave] of [
    ["q", (pane: Pane) => pane.type("q")],
    ["Ctrl-C", (pane: Pane) => pane.type("C-c")],
    ["SIGTERM", (pane: Pane) => signalChild(pane, "TERM")],
    ["SIGHUP", (pane: Pane) => signalChild(pane, "HUP")],
  ] as const) {
    test(`the terminal is given back as it was after ${how}`, async () => {
      const pane = await watch();
      assert.equal(pane.show("#{alternate_on}"), "1");
      await pause(800);
      leave(pane);
      await pane.shows("LEFT 0");
      await pane.shows(/\bicanon\b/);
      assert.match(pane.text(), /[^-]\becho\b/);
      assert.equal(pane.show("#{alternate_on} #{cursor_flag}"), "0 1");
      pane.close();
    });
  }

  test("without a terminal it says what to do, and --json prints every change as a line", async () => {
    const refused = await home.operator(["watch"]);
    assert.equal(codeOf(refused), "terminal_needed");
    const watching = home.start(["watch", "--json", "--passphrase-file", home.passphraseFile]);
    const asked = await ask("in \u202e json", ["demo.thing.make"]);
    const id = idOf(asked, "approval_id");
    await until("the question is printed", () => watching.out().includes(id));
    await home.must(["deny", id]);
    await until("the answer is printed", () => /"state":"denied"/.test(watching.out()));
    assert.match(watching.out(), /^[\n -~]*$/);
    const records = watching
      .out()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Members);
    assert.deepEqual(
      records
        .filter(({ approval_id }) => approval_id === id)
        .map(({ state }) => state)
        .at(-1),
      "denied",
    );
    assert.equal((await watching.end("SIGTERM")).code, 0);
  });
});

function signalChild(pane: Pane, signal: string): void {
  const shell = pane.show("#{pane_pid}");
  const child = spawnSync("pgrep", ["-P", shell], { encoding: "utf8" }).stdout.trim().split("\n")[0] ?? "";
  process.kill(Number(child), `SIG${signal}` as NodeJS.Signals);
}

/** Shares the terminal with gw watch and pushes keys into its input, as a program of the same user could. */
const PUSH = `
my ($go, $report) = @ARGV;
open(my $tty, "+<", "/dev/tty") or die;
select(undef, undef, undef, 0.05) until -e $go;
my $told = "pushed";
sub push_key { my $key = shift; ioctl($tty, 0x5412, $key) or $told = "$!"; select(undef, undef, undef, 0.05); }
push_key($_) for ("a");
select(undef, undef, undef, 0.5);
push_key($_) for ("0", "0", "0", "0", "\\r");
open(my $out, ">", $report); print $out "$told\\n"; close($out);
`;

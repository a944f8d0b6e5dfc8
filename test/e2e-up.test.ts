import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { programOf } from "../scripts/suite/players.ts";
import {
  asUser,
  codeOf,
  type Exited,
  GW,
  Home,
  type Members,
  makeFolder,
  type Started,
  start,
  until,
  within,
} from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";

const root = dirname(import.meta.dirname);
const USUAL_PORT = 7411;
/** Six words with hyphens between them. */
const GENERATED = /\b[a-z]+(-[a-z]+){5}\b/;

describe("a start that cannot be says what to do", asUser, () => {
  const folder = makeFolder();
  const home = new Home(folder);

  test("in a pipe: one fact for machines, and the gateway's own code as the command's", async () => {
    const done = await home.operator(["up"]);
    assert.deepEqual([done.code, codeOf(done)], [1, "vault_missing"]);
    const facts = factsIn(done.err);
    assert.deepEqual([facts.length, facts[0]?.["event"], facts[0]?.["code"]], [1, "start_refused", "vault_missing"]);
  });

  test("on a terminal: one sentence with its code, and no line for machines", {
    ...(noTmux === null ? {} : { skip: noTmux }),
  }, async () => {
    const up = `"${GW}" up --locked --home "${home.folder}"`;
    const pane = openPane(folder, `${up}; echo "LEFT $?"; sleep 600`, home.environment());
    try {
      await pane.shows("LEFT 1");
      assert.match(pane.text(), /^vault_missing: /m);
      assert.equal(pane.text().match(/vault_missing/g)?.length, 1, "said once");
      assert.ok(!pane.text().includes("{"), pane.text());
    } finally {
      pane.close();
    }
  });

  test("without a place to remember in no home is made, and it says where it wanted to", async () => {
    const env = { ...home.environment(), XDG_STATE_HOME: home.passphraseFile };
    const done = await home.operator(["init", "--operator", "ada"], { env });
    assert.deepEqual([done.code, codeOf(done)], [1, "memory_unreadable"]);
    assert.ok(!existsSync(join(home.folder, "vault.json")));
  });

  test("a home of a newer version is named as that, and nothing in it is touched", async () => {
    await home.init();
    const format = join(home.folder, "format");
    writeFileSync(format, "gw.home/v1 state 999\n", { mode: 0o600 });
    const files = readdirSync(home.folder, { recursive: true }).sort();
    const done = await home.operator(["up"]);
    assert.deepEqual([done.code, codeOf(done)], [1, "store_newer"]);
    assert.match(done.err, /docs\/upgrading\.md/);
    assert.deepEqual(readdirSync(home.folder, { recursive: true }).sort(), files);
    writeFileSync(format, "gw.home/v1 state 1\n", { mode: 0o600 });
  });

  test("where it could not be unlocked no gateway is started: nobody to ask, no file, nobody of that name", async () => {
    const files = readdirSync(home.folder, { recursive: true }).sort();
    const refused: readonly (readonly [code: string, done: Exited])[] = [
      ["terminal_needed", await home.run(["up"])],
      ["secret_missing", await home.run(["up", "--passphrase-file", join(folder, "nowhere")])],
      ["operator_unknown", await home.operator(["up", "--operator", "nobody"])],
    ];
    for (const [code, done] of refused) assert.deepEqual([done.code, codeOf(done)], [1, code]);
    assert.deepEqual(readdirSync(home.folder, { recursive: true }).sort(), files, "nothing was begun");
    const two = home.copy();
    const theirs = join(folder, "bob-passphrase");
    writeFileSync(theirs, "bobs own passphrase\n", { mode: 0o600 });
    await two.must(["operator", "add", "bob", "--new-passphrase-file", theirs]);
    assert.equal(codeOf(await two.operator(["up"])), "operator_unknown", "which of two is not said");
    assert.ok(!existsSync(join(two.folder, "audit")));
  });

  test("what refuses a start whoever types what is said before anybody is asked, by npm start too", async () => {
    const twin = home.copy();
    const nowhere = join(folder, "nowhere", "agent.sock");
    for (const [code, config] of [
      ["socket_path_unsafe", `agent_socket: ${nowhere}\n`],
      ["config_invalid", "callbacks: { listen: nowhere }\n"],
    ] as const) {
      writeFileSync(join(twin.folder, "config.yaml"), config, { mode: 0o600 });
      const byHand = await twin.run(["up"]);
      assert.deepEqual([byHand.code, codeOf(byHand)], [1, code]);
    }
    const env = { ...twin.environment(), GW_HOME: twin.folder };
    const started = await within(startProgram(env).exited, 120_000, "npm start");
    assert.deepEqual([started.code, codeOf(started)], [1, "config_invalid"]);
    const none = makeFolder();
    mkdirSync(join(none, "home"), { mode: 0o700 });
    writeFileSync(join(none, "home", "config.yaml"), "callbacks: { listen: nowhere }\n", { mode: 0o600 });
    const fresh = startProgram({ ...home.environment(), GW_HOME: join(none, "home") });
    assert.equal(codeOf(await within(fresh.exited, 120_000, "npm start")), "config_invalid");
    assert.ok(!existsSync(join(none, "home", "vault.json")), "no home was made that could not be started");
  });

  test("a wrong passphrase begins no gateway, and the next one that is right tells of it and records it", async () => {
    const wrong = join(folder, "wrong-passphrase");
    writeFileSync(wrong, "not the passphrase at all\n", { mode: 0o600 });
    const refused = await home.run(["up", "--passphrase-file", wrong]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "passphrase_wrong"]);
    assert.ok(!existsSync(join(home.folder, "audit")), "no log was begun that nobody vouched for");
    const gateway = await home.upByHand();
    assert.match(gateway.err(), /1 wrong passphrase since the last unlock/);
    await gateway.end("SIGTERM");
    assert.deepEqual(
      (await home.events("unlock_failed")).map(({ method, count }) => [method, count]),
      [["passphrase", 1]],
    );
    assert.equal(codeOf(await home.run(["up", "--passphrase-file", wrong])), "passphrase_wrong");
    const verified = await home.verify();
    assert.equal(verified.code, 0, verified.out);
  });

  test("a clock that was set back is told at the start; it starts, and the log goes on whole", async () => {
    await (await home.up()).end("SIGTERM");
    const audit = join(home.folder, "audit");
    const ahead = Date.now() / 1_000 + 7_200;
    for (const name of readdirSync(audit)) utimesSync(join(audit, name), ahead, ahead);
    const gateway = await home.up();
    const told = factsIn(gateway.err()).find(({ event }) => event === "clock_set_back");
    assert.equal(told?.["level"], "warning");
    assert.equal((await home.status())["locked"], false);
    await gateway.end("SIGTERM");
    assert.equal((await home.verify()).code, 0);
  });
});

test("gw up says of a gateway that was killed that it was, and the next start goes on", asUser, async () => {
  const home = await new Home(makeFolder()).init();
  const gateway = await home.upByHand();
  process.kill(gateway.pid, "SIGKILL");
  const left = await within(gateway.exited, 120_000, "gw up");
  assert.deepEqual([left.code, codeOf(left)], [1, "gateway_ended"]);
  assert.match(left.err, /SIGKILL/);
  assert.match(left.err, /Start it again.*gw operation list/s, "and what to do");
  const next = await home.upByHand();
  assert.equal((await next.end("SIGTERM")).code, 0, "one that was told to end did");
  const verified = await home.verify();
  assert.equal(verified.code, 0, verified.out);
});

test("the workstation's commands of docs/install.md, where no systemd of the user runs", asUser, async () => {
  const folder = makeFolder();
  const home = new Home(folder);
  const programs = join(folder, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "systemctl"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  symlinkSync(GW, join(programs, "gw"));
  const { PATH, ...around } = home.environment();
  const env = { ...around, PATH: `${programs}:${PATH}`, HOME: folder, GW_HOME: home.folder };
  const page = readFileSync(join(root, "docs", "install.md"), "utf8").split("## Workstation")[1] ?? "";
  const lines = (/```\n([\s\S]*?)```/.exec(page)?.[1] ?? "").split("\n").map((line) => line.replace(/ *#.*/, ""));
  const commands = lines.filter((line) => /^(gw |~)/.test(line));
  assert.deepEqual(
    commands.map((command) => command.split(" ").slice(0, 2).join(" ")),
    ["gw init", "gw install", "~/.local/bin/gw-start", "gw unlock", "gw status", "gw uninstall"],
  );
  let running: Started | undefined;
  try {
    for (const command of commands) {
      const asks = /^gw (init|unlock)/.test(command) ? ` --passphrase-file '${home.passphraseFile}'` : "";
      const begun = start(["sh", "-ec", `exec ${command}${asks}`], { env });
      if (command.startsWith("~")) {
        running = begun;
        await until("it runs in the foreground", () => begun.out().includes("Approve with"), 120_000);
        continue;
      }
      const done = await within(begun.exited, 120_000, command);
      assert.equal(done.code, 0, `${command}: ${done.err}${done.out}`);
      if (command === "gw status") assert.match(done.out, /^ {2}unlocked$/m);
    }
    assert.ok(!existsSync(join(folder, ".local", "bin", "gw-start")));
    assert.equal((await home.status())["locked"], false, "what the script started goes on");
  } finally {
    await running?.end("SIGTERM");
  }
});

test("npm start unlocks as gw up does: wrong passphrases are recorded, and the log is vouched for", {
  ...asUser,
  ...(noTmux === null ? {} : { skip: noTmux }),
}, async () => {
  const folder = makeFolder();
  const home = await new Home(folder).init();
  const passphrase = readFileSync(home.passphraseFile, "utf8").trim();
  const startHere = async (typed: string, shown: string, stop: boolean): Promise<void> => {
    const env = { ...home.environment(), GW_HOME: home.folder };
    // Ctrl-C is for the program, not for the shell around it.
    const pane = openPane(folder, `trap : INT; ${startCommand().join(" ")}; echo "LEFT $?"; sleep 600`, env);
    try {
      await pane.shows("Passphrase of ada:");
      pane.write(typed);
      pane.type("Enter");
      await pane.shows(shown);
      if (stop) pane.type("C-c");
      await pane.shows(/LEFT \d/);
    } finally {
      pane.close();
    }
  };
  await startHere("not the passphrase at all", "passphrase_wrong", false);
  await startHere(passphrase, "It runs.", true);
  const verified = await home.verify();
  assert.equal(verified.code, 0, verified.out);
  const failed = await home.events("unlock_failed");
  assert.deepEqual(
    failed.map(({ method, count }) => [method, count]),
    [["passphrase", 1]],
  );
});

describe("npm start for a second user of the machine", asUser, () => {
  const folder = makeFolder();
  const home = new Home(folder);
  const env = { ...home.environment(), HOME: folder, GW_HOME: home.folder };
  let taken: Server | null = null;
  let running: Started | null = null;
  let first: Exited | null = null;

  before(async () => {
    taken = await take(USUAL_PORT);
  });

  after(async () => {
    await running?.end();
    taken?.close();
  });

  test("with 7411 in use the provider has another port, and the pack names it", async () => {
    running = await npmStart();
    const status = await home.status();
    assert.deepEqual([status["locked"], status["packs"]], [false, ["reference"]]);
    // Somebody else who had it may have let go of it before the start.
    if (taken !== null) assert.notEqual(portOf(home), USUAL_PORT);
    assert.ok((await fetch(`http://127.0.0.1:${portOf(home)}/`)).status > 0, "the provider answers there");
    first = await running.end("SIGTERM");
  });

  test("without a terminal the generated passphrase is shown to nobody, and it says so", () => {
    const said = first?.out ?? "";
    assert.match(said, /Nobody can approve/);
    assert.match(said, new RegExp(`GW_HOME=${home.folder}-mine npm start`), "what helps, and not what cannot");
    assert.doesNotMatch(said, /gw console|gw watch/);
    assert.doesNotMatch(`${first?.out}${first?.err}`, GENERATED);
  });

  test("started again it takes the port that its pack names; where that is taken, it says so", async () => {
    // A port that the system chose may be somebody else's for a moment.
    await until("the port is free", async () => {
      const held = await take(portOf(home));
      held?.close();
      return held !== null;
    });
    running = await npmStart();
    process.kill(Number((await home.status())["pid"]), "SIGKILL");
    const killed = await within(running.exited, 120_000, "npm start");
    assert.deepEqual([killed.code, codeOf(killed)], [1, "gateway_ended"]);
    const other = await take(portOf(home));
    const refused = await startProgram(env).exited;
    other?.close();
    assert.deepEqual([refused.code, codeOf(refused)], [1, "port_in_use"]);
  });

  async function npmStart(): Promise<Started> {
    const started = startProgram(env);
    await until(
      "it runs",
      () => {
        if (started.child.exitCode !== null) assert.fail(`it ended: ${started.err()}${started.out()}`);
        return started.out().includes("It runs.");
      },
      120_000,
    );
    return started;
  }
});

/** As scripts/setup.mjs does it, once everything is installed; but compiled, which takes a fifth (e2e-journey starts the sources). */
function startCommand(): readonly string[] {
  return [process.execPath, "--disable-warning=ExperimentalWarning", "--disable-sigusr1", programOf(GW, "start")];
}

function startProgram(env: NodeJS.ProcessEnv): Started {
  return start(startCommand(), { env });
}

function portOf(home: Home): number {
  const pack = readFileSync(join(home.folder, "packs", "reference.yaml"), "utf8");
  return Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(pack)?.[1]);
}

/** Null where somebody else has it already, which serves as well. */
function take(port: number): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

function factsIn(text: string): readonly Members[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Members);
}

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { programOf } from "../scripts/suite/players.ts";
import { asUser, codeOf, type Exited, GW, Home, makeFolder, start, within } from "./support/home.ts";

const root = dirname(import.meta.dirname);

/** A stack is for us; whoever typed the command gets a code and what to do. */
function assertTold(done: Exited, code: string, what: string): void {
  assert.deepEqual([done.code, codeOf(done)], [1, code], `${what}: ${done.err}${done.out}`);
  assert.doesNotMatch(done.err, /^ {4}at /m, what);
}

describe("what the file system refuses is told with a code and what to do", asUser, () => {
  const folder = makeFolder();
  const passphrase = join(folder, "passphrase");
  writeFileSync(passphrase, "correct horse battery staple in a test\n", { mode: 0o600 });
  mkdirSync(join(folder, "closed"), { mode: 0o500 });
  writeFileSync(join(folder, "file"), "");
  symlinkSync("loop", join(folder, "loop"));

  function run(home: string, args: readonly string[], state = join(folder, "state")): Promise<Exited> {
    const { HOME } = process.env;
    return runAs({ HOME, XDG_STATE_HOME: state }, [GW, ...args, "--home", home]);
  }

  function runAs(env: NodeJS.ProcessEnv, command: readonly string[]): Promise<Exited> {
    const running = start(command, { env: { PATH: process.env["PATH"], ...env } });
    return within(running.exited, 120_000, `${command.join(" ")} with ${env["HOME"]}`).finally(() => running.end());
  }

  /** The uid of the suite has no account where root started it. */
  function hasAccount(): boolean {
    try {
      return userInfo().homedir !== "";
    } catch {
      return false;
    }
  }

  const init = ["init", "--operator", "ada", "--passphrase-file", passphrase];

  test("a home where none can be made: no right, a file on the way, a circle of links, too long a name, /proc", async () => {
    const places = [join(folder, "closed", "gw"), join(folder, "file", "gw"), join(folder, "loop", "gw")];
    for (const home of [...places, join(folder, "x".repeat(300)), "/proc/gw/home"]) {
      assertTold(await run(home, init), "file_unusable", home);
    }
    assertTold(await run(join(folder, "gw"), init, "/proc/gw/state"), "memory_unreadable", "state below /proc");
  });

  test("every command, whatever it wants with such a home", async () => {
    for (const args of [["status"], ["up", "--locked"], ["call", "a.b.c"], ["policy", "show"], ["version"]]) {
      assertTold(await run(join(folder, "loop", "gw"), args), "file_unusable", args.join(" "));
    }
  });

  test("every folder that a command makes, below /proc and below a file", async () => {
    const home = await new Home(makeFolder()).init();
    const program = programOf(GW, "start");
    const pack = join(root, "packs", "reference.yaml");
    const provider = await runAs({ HOME: folder }, [GW, "reference", "--home", "/proc/gw/home"]);
    assertTold(provider, "file_unreadable", "gw reference below /proc");
    if (!hasAccount()) assertTold(await runAs({}, [GW, "status"]), "file_unusable", "no account and no HOME");
    for (const at of ["/proc/gw", join(folder, "file")]) {
      const here = { HOME: at, SHELL: "/bin/bash", XDG_STATE_HOME: join(folder, "state") };
      const there = { HOME: folder, GW_HOME: join(at, "home"), XDG_STATE_HOME: join(folder, "state") };
      for (const [env, command] of [
        [here, [GW, "install", "--user", "--home", home.folder]],
        [here, [GW, "setup-shell"]],
        [here, [GW, "connect", "codex", "--home", home.folder, "--write"]],
        [there, [GW, "manual", join(at, "man")]],
        [there, [GW, "demo", "--home", join(at, "demo")]],
        [there, [GW, "pack", "add", pack]],
        [there, [process.execPath, "--disable-warning=ExperimentalWarning", "--disable-sigusr1", program]],
      ] as const) {
        const done = await runAs(env, command);
        assertTold(done, "file_unusable", `${command.slice(1).join(" ")} with ${at}`);
      }
    }
  });

  test("a folder where SQLite has its file", async () => {
    const home = await new Home(makeFolder()).init();
    for (const name of ["unlock.lock", "vault.lock"]) {
      rmSync(join(home.folder, name), { force: true });
      mkdirSync(join(home.folder, name));
      assertTold(await home.operator(["policy", "set", "callbacks", "off"]), "file_unusable", name);
      rmSync(join(home.folder, name), { recursive: true });
    }
  });

  test("a home whose parts are of another kind, or cannot be written, and an archive where none can be made", async () => {
    const home = await new Home(makeFolder()).init();
    mkdirSync(join(home.folder, "format"));
    assertTold(await home.run(["up", "--locked"]), "file_unusable", "format");
    rmSync(join(home.folder, "format"), { recursive: true });
    writeFileSync(join(home.folder, "audit"), "");
    assertTold(await home.run(["up", "--locked"]), "file_unusable", "audit");
    rmSync(join(home.folder, "audit"));
    chmodSync(home.folder, 0o500);
    try {
      const set = await home.operator(["policy", "set", "callbacks", "off"]);
      assertTold(set, codeOf(set) === "file_not_written" ? "file_not_written" : "file_unusable", "closed home");
    } finally {
      chmodSync(home.folder, 0o700);
    }
    for (let life = 0; life < 3; life++) await (await home.up()).end("SIGTERM");
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    for (const to of [join(folder, "closed", "a"), join(folder, "file", "a"), "/proc/gw/a"]) {
      assertTold(await home.operator(["audit", "archive", to, "--before", tomorrow]), "file_unusable", to);
    }
    assert.equal((await home.verify()).code, 0);
  });
});

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { asUser, codeOf, type Exited, GW, Home, makeFolder, start, within } from "./support/home.ts";

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
    const { PATH, HOME } = process.env;
    const running = start([GW, ...args, "--home", home], { env: { PATH, HOME, XDG_STATE_HOME: state } });
    return within(running.exited, 60_000, `gw ${args.join(" ")} at ${home}`).finally(() => running.end());
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

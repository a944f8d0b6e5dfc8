import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createLocalSources } from "./local-sources.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-sources-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const LONG_MS = 60_000;

function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  return path;
}

async function run(argv: readonly string[], commandMs = LONG_MS): Promise<string> {
  const read = await createLocalSources(undefined, commandMs).read({ kind: "command", argv, leaseS: 60 });
  return read.kind === "failed" ? `failed: ${read.why}` : read.secret.use(String);
}

test("a command's output is the secret, without its last line end; it sees nothing of our environment", async () => {
  process.env["GW_TEST_LEAK"] = "leaked";
  assert.equal(await run([script("env", "env | cut -d= -f1 | sort | tr '\\n' ' '; echo"), "x"]), "HOME LANG PATH PWD ");
  delete process.env["GW_TEST_LEAK"];
  assert.equal(await run([script("args", 'printf "%s|%s\\n\\n" "$1" "$2"'), "a b", "$(id)"]), "a b|$(id)\n");
  assert.equal(await run([script("where", "pwd")]), "/");
});

test("a command that fails, prints too much, does not end, is not there or is not ours gives nothing", async () => {
  assert.equal(await run([script("fails", "echo secret; exit 3")]), "failed: its command ended with 3");
  assert.equal(await run([script("floods", "yes")]), "failed: its command printed too much");
  // What it started is gone with it, or the pipe would stay open and this would wait.
  assert.equal(await run([script("hangs", "sleep 600 & sleep 600")], 50), "failed: its command took too long");
  // One that leaves its group and keeps our pipe is not waited for: it lives on.
  const pid = join(folder, "pid");
  const leaves = script("leaves", `setsid sleep 120 & echo $! > ${pid}; sleep 600`);
  assert.equal(await run([leaves], 1_000), "failed: its command took too long");
  process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
  assert.equal(await run([join(folder, "nobody")]), "failed: its program is not there");
  const open = script("open", "echo secret");
  chmodSync(open, 0o777);
  assert.match(await run([open]), /others may change or replace its program/);
  const below = join(folder, "shared");
  mkdirSync(below);
  chmodSync(below, 0o777);
  writeFileSync(join(below, "mine"), "#!/bin/sh\necho secret\n", { mode: 0o700 });
  assert.equal(await run([join(below, "mine")]), `failed: others may change or replace its program (${below})`);
});

test("a systemd credential is read from the folder that systemd names, and from nowhere else", async () => {
  writeFileSync(join(folder, "token"), "from-systemd\n");
  const source = { kind: "systemd", name: "token", leaseS: 60 } as const;
  const found = await createLocalSources(folder).read(source);
  assert.equal(found.kind === "secret" ? found.secret.use(String) : found.why, "from-systemd");
  const absent = await createLocalSources(folder).read({ ...source, name: "other" });
  assert.match(absent.kind === "failed" ? absent.why : "", /ENOENT/);
  const none = await createLocalSources(undefined).read(source);
  assert.match(none.kind === "failed" ? none.why : "", /LoadCredential/);
});

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** A program that shuts itself in as gw-ident does, and then tries what nobody may: each line is a name and what came of it. */
const PRISONER = `
import { readdirSync, readlinkSync, openSync, writeSync } from "node:fs";
import koffi from "koffi";
import { confine } from ${JSON.stringify(new URL("./confine.ts", import.meta.url).href)};
const [file] = process.argv.slice(1);
const call = koffi.load(null).func("long syscall(long number, long a, long b, long c, long d, long e, long f)");
const open = koffi.load(null).func("int openat(int directory, const char *path, int flags, int mode)");
koffi.load(null).func("int prctl(int option, long a, long b, long c, long d)")(38, 1, 0, 0, 0);
const ring = readdirSync("/proc/self/fd").find((fd) => {
  try { return readlinkSync("/proc/self/fd/" + fd).includes("io_uring"); } catch { return false; }
});
confine();
const tell = (name, result) => writeSync(1, name + " " + (result < 0 ? Object.entries(koffi.os.errno).find(([, value]) => value === koffi.errno())?.[0] : "done") + "\\n");
const numbers = { socket: 41, connect: 42, fork: 57, execve: 59, kill: 62, ptrace: 101, unlink: 87, truncate: 76, process_vm_readv: 310, pidfd_getfd: 438,
  pidfd_open: 434, tgkill: 234, rt_tgsigqueueinfo: 297, move_pages: 279, process_madvise: 440, io_uring_setup: 425, setns: 308, openat2: 437, prlimit64: 302 };
tell("open_write", open(-100, file, 1, 0));
tell("open_truncate", open(-100, file, 0o1000, 0));
tell("open_create", open(-100, file + ".new", 0o100, 0o600));
for (const [name, number] of Object.entries(numbers)) tell(name, Number(call(number, 1, 1, 0, 0, 0, 0)));
tell("io_uring_enter", ring === undefined ? -1 : Number(call(426, Number(ring), 0, 0, 0, 0, 0)));
tell("open_read", open(-100, file, 0, 0));
`;

test("after shutting itself in gw-ident reads, and neither writes, signals, connects, starts nor traces, by a ring either", {
  skip: process.platform !== "linux" || process.arch !== "x64",
}, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "file");
  writeFileSync(file, "kept");
  const done = spawnSync(process.execPath, ["--input-type=module", "-e", PRISONER, file], {
    cwd: import.meta.dirname,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
  });
  const said = Object.fromEntries(
    done.stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
  const { open_read: read, ...others } = said;
  assert.equal(read, "done", done.stdout + done.stderr);
  assert.ok(Object.keys(others).length > 20, done.stdout + done.stderr);
  assert.deepEqual([...new Set(Object.values(others))], ["EPERM"], done.stdout);
  assert.equal(readFileSync(file, "utf8"), "kept");
});

/** Shut in, and waiting as gw-ident waits: without a turn of Node's loop. */
const WAITING = `
import { writeSync } from "node:fs";
import { confine } from ${JSON.stringify(new URL("./confine.ts", import.meta.url).href)};
import { loadLibc } from ${JSON.stringify(new URL("../libc.ts", import.meta.url).href)};
loadLibc().prctl(38, 1, 0, 0, 0);
confine();
writeSync(1, "ready");
for (;;) loadLibc().poll(Buffer.alloc(0), 0, 600_000);
`;

test("whoever stops gw-ident ends it by that signal, and finds no crash", {
  skip: process.platform !== "linux",
}, async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", WAITING], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env["PATH"] },
    });
    const ended = once(child, "exit");
    await once(child.stdout, "data");
    child.kill(signal);
    assert.deepEqual(await ended, [null, signal]);
  }
});

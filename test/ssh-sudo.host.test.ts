import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { missingForSshd } from "../demo/host/sshd.ts";
import type { SshSigner } from "../src/conventions/ssh/outbound.ts";
import { appears, expectAnswered, expectRefused, expectSilent } from "./ssh-expect.ts";
import { ACCOUNT, ed25519, nextRequestId, type Stand, standInAccount, startStand } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

/**
 * A receiver that uses sudo, with a real sudo and a real rule. Programs, rule and account exist in the test's own mount
 * namespace and nowhere else.
 */
const SUDO = "/usr/bin/sudo";
const PROGRAMS = "/usr/local/sbin";
const RAISED = `${PROGRAMS}/restart-worker`;
const OTHER = `${PROGRAMS}/other`;
const RULE = `${ACCOUNT} ALL=(root) NOPASSWD: ${RAISED}`;
const marks = join(tmpdir(), "gw-ssh-sudo-marks");

standInAccount(import.meta.filename, (folder) => {
  if (!existsSync(SUDO)) return [];
  const at = (name: string) => join(folder, name);
  const program = (name: string, script: string) =>
    writeFileSync(join(at("programs"), name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  for (const name of ["programs", "rules"]) mkdirSync(at(name), { mode: 0o755 });
  program(
    "restart-worker",
    `wait_in() { echo $$ > ${marks}/.$1; mv ${marks}/.$1 ${marks}/$1; while [ ! -e ${marks}/let-go ]; do sleep 0.1; done; rm ${marks}/$1; }
case "$1" in
  slow) wait_in slow;;
  stubborn) trap '' TERM; wait_in stubborn;;
esac
echo "$(id -u) $# $*"`,
  );
  program("other", `id -u > ${marks}/other; id -u`);
  writeFileSync(join(at("rules"), "gw-receiver"), `${RULE}\n`, { mode: 0o440 });
  const shadow = readFileSync("/etc/shadow", "utf8");
  writeFileSync(at("shadow"), `${ACCOUNT}:*:20000:0:99999:7:::\n${shadow}`, { mode: 0o640 });
  return [
    { from: at("programs"), at: PROGRAMS },
    { from: at("rules"), at: "/etc/sudoers.d" },
    { from: at("shadow"), at: "/etc/shadow" },
  ];
});

const missing = missingForSshd() ?? missingForSudo();
const real = (name: string, run: () => Promise<void>) => test(name, { skip: missing ?? false, timeout: 240_000 }, run);

function missingForSudo(): string | null {
  if (!existsSync(SUDO)) return `${SUDO} is absent (apt-get install sudo)`;
  return existsSync(RAISED) ? null : "a sudo rule can only be shown to a test that root started";
}

const scratch = mkdtempSync(join(tmpdir(), "gw-ssh-sudo-"));
let stand: Stand;
let signer: SshSigner;

before(async () => {
  if (missing !== null) return;
  // The rule names the place, and a run that was killed may have left it.
  rmSync(marks, { recursive: true, force: true });
  mkdirSync(marks, { mode: 0o700 });
  const raised = (program: string, more: object = {}) => ({
    executable: SUDO,
    arguments: ["-n", "--", program, { field: "worker" }],
    fields: { worker: { first: "a-z", characters: "a-z0-9-", max: 32 } },
    ...more,
  });
  stand = await startStand({
    operations: { restart_worker: raised(RAISED), slow_worker: raised(RAISED, { timeout_s: 1 }), other: raised(OTHER) },
  });
  signer = stand.allow(ed25519(), stand.receiverCommand);
});

after(async () => {
  if (missing === null) await stand.stop();
  rmSync(scratch, { recursive: true, force: true });
  if (missing === null) rmSync(marks, { recursive: true, force: true });
});

/** As the account itself, without any receiver in between: what the rule alone lets through. */
function sudo(...args: readonly string[]): { readonly status: number | null; readonly out: string } {
  const { status, stdout } = spawnSync(SUDO, ["-n", ...args], { encoding: "utf8", cwd: "/", timeout: 20_000 });
  return { status, out: stdout };
}

real("gw-receiver check prints the rule that is in force: one fixed executable", async () => {
  const done = spawnSync(
    process.execPath,
    [stand.receiver, "check", "--manifest", stand.manifest, "--trust-own-files"],
    { encoding: "utf8" },
  );
  const rules = done.stdout.split("\n").filter((line) => line.startsWith("sudoers: "));
  assert.ok(rules.includes(`sudoers: ${RULE}`), done.stdout);
  assert.equal(rules.length, 2, "one rule a program, however many operations use it");
  for (const rule of rules) assert.match(rule, /NOPASSWD: \/[^ *,!]+$/, "a path, and no pattern, list or argument");
});

real("the program that the rule names runs with its privilege, with its arguments as they are", async () => {
  const { text } = expectAnswered(
    await stand.send(signer, { action: "restart_worker", fields: { worker: "web-1" } }),
    0,
  );
  assert.equal(text, "0 1 web-1\n");
});

real("a hostile field never reaches sudo", async () => {
  for (const worker of ["-s", "--", "web-1 -s", "$(id)", "web-1\nweb-2"]) {
    expectRefused(await stand.send(signer, { action: "restart_worker", fields: { worker } }), "field_not_allowed");
  }
});

real("another program through the same sudo is refused, although the manifest names it", async () => {
  const seen = await stand.send(signer, { action: "other", fields: { worker: "web-1" } });
  assert.match(expectAnswered(seen, 1).text, /password is required/);
  assert.equal(existsSync(join(marks, "other")), false);
});

real("whatever else the account asks of sudo is refused", async () => {
  assert.equal(sudo("--", RAISED, "web-1").out, "0 1 web-1\n", "the account stands, and the rule with it");
  const alias = join(scratch, "restart-worker");
  symlinkSync(OTHER, alias);
  const attempts: readonly (readonly string[])[] = [
    ["id"],
    ["-s"],
    ["-i"],
    ["--", "/bin/sh", "-c", `id > ${marks}/other`],
    ["--", OTHER],
    ["--", `${PROGRAMS}/../sbin/other`],
    ["--", alias],
    ["-e", "/etc/hostname"],
    ["-u", "daemon", "--", RAISED, "web-1"],
    [`LD_PRELOAD=${scratch}/x.so`, RAISED, "web-1"],
    ["--preserve-env=PATH", "--", RAISED, "web-1"],
  ];
  for (const attempt of attempts) assert.deepEqual(sudo(...attempt), { status: 1, out: "" }, attempt.join(" "));
  assert.equal(existsSync(join(marks, "other")), false);
});

real("at its time limit a raised program gets SIGTERM through sudo, and is then known to have ended", async () => {
  const seen = await stand.send(signer, { action: "slow_worker", fields: { worker: "slow" } });
  const { headers } = expectAnswered(seen, 143);
  assert.deepEqual([headers["signal"], headers["timed-out"]], ["SIGTERM", "true"]);
  assert.equal(runs("slow"), false);
});

real(
  "one that does not end by it goes on, so its outcome is unknown and never a signal that only sudo got",
  async () => {
    const requestId = nextRequestId();
    const request = { action: "slow_worker", fields: { worker: "stubborn" }, requestId };
    expectSilent(await stand.send(signer, request), "connection_lost");
    assert.equal(runs("stubborn"), true);
    const record = readFileSync(join(stand.state, "requests", requestId), "utf8");
    assert.match(record, /"action_abandoned"/);
    assert.doesNotMatch(record, /"action_finished"/);
    writeFileSync(join(marks, "let-go"), "");
    await until("nothing of it is left behind", () => !existsSync(join(marks, "stubborn")));
  },
);

real("a sudo that was killed says nothing about what it raised: unknown as well", async () => {
  rmSync(join(marks, "let-go"));
  const sending = stand.send(signer, { action: "restart_worker", fields: { worker: "stubborn" } });
  await appears(join(marks, "stubborn"));
  process.kill(parentOf(pidOf("stubborn")), "SIGKILL");
  expectSilent(await sending, "connection_lost");
  assert.equal(runs("stubborn"), true);
  writeFileSync(join(marks, "let-go"), "");
  await until("it has ended", () => !existsSync(join(marks, "stubborn")));
});

function pidOf(mark: string): number {
  return Number(readFileSync(join(marks, mark), "utf8"));
}

function runs(mark: string): boolean {
  return existsSync(`/proc/${pidOf(mark)}`);
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

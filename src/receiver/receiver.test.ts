import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import type { OutputFrame } from "../conventions/ssh/frames.ts";
import { check } from "./check.ts";
import { readInput } from "./input.ts";
import { operate, type Work } from "./operate.ts";
import { openRecorder } from "./record.ts";
import { createSpeaker } from "./speaker.ts";
import { nameProcess, tellStatus } from "./status.ts";
import { findBreach } from "./surroundings.ts";
import { resolveTrusted } from "./trusted-file.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-receiver-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const asRoot = process.getuid?.() === 0;
const own = { ownFiles: true };

function work(executable: string, argv: readonly string[], more: Partial<Work> = {}): Work {
  return {
    executable,
    argv,
    cwd: "/",
    environment: { A: "1" },
    timeoutMs: 20_000,
    outputBytes: 1_000,
    elevated: false,
    ...more,
  };
}

async function run(job: Work) {
  const frames: OutputFrame[] = [];
  const end = await operate(job, (frame) => frames.push(frame));
  const text = (stream: string) =>
    Buffer.concat(frames.filter((each) => each.stream === stream).map(({ data }) => data)).toString();
  return { end, stdout: text("stdout"), stderr: text("stderr") };
}

/** On a slow machine the time may be over before the program has begun: then it gets more. */
async function runUntil(make: (timeoutMs: number) => Work, begun: () => boolean) {
  let { end } = await run(make(500));
  for (let timeoutMs = 2_000; !begun() && timeoutMs < 60_000; timeoutMs *= 4) ({ end } = await run(make(timeoutMs)));
  return end;
}

test("arguments reach the program one by one, and no shell reads them", async () => {
  const hostile = ["$(id)", "a b", "`id`", "*", ";", "\\", "'", "\n", "&&"];
  const { stdout, end } = await run(work("/usr/bin/printf", ["%s|", ...hostile]));
  assert.equal(stdout, `${hostile.join("|")}|`);
  assert.deepEqual(end, { kind: "ended", exitStatus: 0, signal: null, timedOut: false, truncated: false });
});

test("the environment is the manifest's and the input is empty", async () => {
  assert.equal((await run(work("/usr/bin/env", []))).stdout, "A=1\n");
  assert.equal((await run(work("/bin/cat", []))).stdout, "");
});

test("output beyond the bound is dropped, the program goes on, and the end says so", async () => {
  const { stdout, end } = await run(work("/usr/bin/head", ["-c", "500000", "/dev/zero"]));
  assert.equal(stdout.length, 1_000);
  assert.ok(end.kind === "ended" && end.truncated && end.exitStatus === 0);
});

/** A script that outlasts its time; it writes to the file that it is given once it has begun. */
async function outlast(name: string, textFor: (begun: string) => string) {
  const script = join(folder, name);
  const begun = join(folder, `${name}-begun`);
  writeFileSync(script, `#!/bin/sh\n${textFor(begun)}\n`, { mode: 0o700 });
  const end = await runUntil(
    (timeoutMs) => work(script, [], { timeoutMs }),
    () => existsSync(begun),
  );
  assert.ok(end.kind === "ended" && end.timedOut);
  return { signal: end.signal, said: readFileSync(begun, "utf8") };
}

async function endsWithChild(name: string, textFor: (pid: string) => string): Promise<void> {
  const { signal, said } = await outlast(name, textFor);
  assert.equal(signal, "SIGTERM");
  const child = Number(said);
  for (let turn = 0; turn < 1_500 && isRunning(child); turn++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(isRunning(child), false);
}

test("a program over its time is ended with everything it started", () =>
  endsWithChild("spawner", (pid) => `sleep 300 &\necho $! > ${pid}\nwait`));

test("a program that does not listen to the first signal gets the second", async () => {
  const { signal } = await outlast("stubborn", (begun) => `trap '' TERM\n: > ${begun}\nwhile :; do sleep 0.1; done`);
  assert.equal(signal, "SIGKILL");
});

test("what a program started and that does not listen to the first signal ends with it all the same", () =>
  endsWithChild(
    "deaf-child",
    (pid) => `(trap '' TERM; exec sh -c 'echo $$ > ${pid}; while :; do sleep 0.1; done') &\nwait`,
  ));

test("what sudo raised is not believed to have ended when only sudo can have been killed", async () => {
  const raised = { elevated: true, timeoutMs: 500 };
  const raisedFor = (timeoutMs: number): Work => work(stubborn, [], { elevated: true, timeoutMs });
  const pid = join(folder, "raised-pid");
  const stubborn = join(folder, "raised-stubborn");
  writeFileSync(stubborn, `#!/bin/sh\ntrap '' TERM\necho $$ > ${pid}\nwhile :; do sleep 0.1; done\n`, { mode: 0o700 });
  assert.deepEqual(await runUntil(raisedFor, () => existsSync(pid)), { kind: "abandoned" });
  process.kill(-Number(readFileSync(pid, "utf8")), "SIGKILL");
  const killed = join(folder, "raised-killed");
  writeFileSync(killed, "#!/bin/sh\nkill -9 $$\n", { mode: 0o700 });
  assert.deepEqual((await run(work(killed, [], raised))).end, { kind: "abandoned" });
  const polite = await run(work("/bin/sleep", ["300"], raised));
  assert.ok(polite.end.kind === "ended" && polite.end.timedOut && polite.end.signal === "SIGTERM");
});

test("a program that leaves another behind is not waited for", async () => {
  const script = join(folder, "leaver");
  writeFileSync(script, "#!/bin/sh\nsleep 3 &\necho left\n", { mode: 0o700 });
  const { end, stdout } = await run(work(script, []));
  assert.ok(end.kind === "ended" && !end.timedOut);
  assert.equal(stdout, "left\n");
});

test("a program that ended in time is not called late for what it left behind", async () => {
  const script = join(folder, "late-leaver");
  writeFileSync(script, "#!/bin/sh\nsleep 3 &\n", { mode: 0o700 });
  const runOnce = async () => (await run(work(script, [], { timeoutMs: 200 }))).end;
  let end = await runOnce();
  // On a slow machine it may really be late.
  for (let turn = 0; turn < 50 && end.kind === "ended" && end.signal !== null; turn++) end = await runOnce();
  assert.deepEqual(end, { kind: "ended", exitStatus: 0, signal: null, timedOut: false, truncated: false });
});

test("a program that cannot be started ends with 127", async () => {
  const { end } = await run(work("/nonexistent", []));
  assert.ok(end.kind === "ended" && end.exitStatus === 127);
});

test("an identifier is claimed once, whoever asks", () => {
  const state = join(folder, "state");
  mkdirSync(state, { mode: 0o700 });
  const [one, two] = [openRecorder(state), openRecorder(state)];
  assert.ok(one && two);
  assert.equal(one.claim("call_00000001", { event: "action_started" }), true);
  assert.equal(two.claim("call_00000001", { event: "action_started" }), false);
  one.add("call_00000001", { event: "action_finished", exit_status: 3 });
  assert.deepEqual(two.read("call_00000001"), [
    { event: "action_started" },
    { event: "action_finished", exit_status: 3 },
  ]);
  assert.equal(two.read("call_00000002"), undefined);
  // The system makes the file or finds it, in one step: to look first would find nothing here, and leave a moment between.
  symlinkSync("nowhere", join(state, "requests", "call_00000003"));
  assert.equal(one.claim("call_00000003", { event: "action_started" }), false);
});

test("an identifier with an empty or torn record stays claimed, and its state is not invented", () => {
  const state = join(folder, "torn");
  mkdirSync(join(state, "requests"), { recursive: true, mode: 0o700 });
  writeFileSync(join(state, "requests", "call_00000001"), "");
  writeFileSync(join(state, "requests", "call_00000002"), '{"event":"action_sta');
  const recorder = openRecorder(state);
  assert.ok(recorder);
  for (const id of ["call_00000001", "call_00000002"]) {
    assert.equal(recorder.claim(id, {}), false);
    assert.equal(tellStatus(recorder, id, "now")["state"], "interrupted");
  }
});

test("the status tells running from interrupted by the live process", () => {
  const state = join(folder, "status");
  mkdirSync(state, { mode: 0o700 });
  const recorder = openRecorder(state);
  assert.ok(recorder);
  recorder.claim("call_00000001", { event: "action_started", ...nameProcess() });
  assert.equal(tellStatus(recorder, "call_00000001", "now")["state"], "running");
  recorder.claim("call_00000002", { event: "action_started", ...nameProcess(), receiver_start: "1" });
  assert.equal(tellStatus(recorder, "call_00000002", "now")["state"], "interrupted");
  recorder.claim("call_00000003", { event: "action_started", ...nameProcess(), boot_id: "another" });
  assert.equal(tellStatus(recorder, "call_00000003", "now")["state"], "interrupted");
  assert.equal(tellStatus(recorder, "call_00000004", "now")["state"], "absent");
  assert.equal(recorder.claim("call_00000004", {}), false);
});

test("a state folder that others can write, or that cannot be, is not used", () => {
  const open = join(folder, "open");
  mkdirSync(open);
  chmodSync(open, 0o777);
  assert.equal(openRecorder(open), undefined);
  assert.equal(openRecorder("/proc/nothing"), undefined);
});

test("a manifest or program is believed only where nobody else can change it or its folders", () => {
  assert.equal(resolveTrusted("/bin/true", { ownFiles: false }) !== undefined, true);
  const safe = join(folder, "safe");
  mkdirSync(safe, { mode: 0o755 });
  const file = join(safe, "file");
  writeFileSync(file, "x", { mode: 0o644 });
  assert.equal(resolveTrusted(file, own), file);
  if (!asRoot) assert.equal(resolveTrusted(file, { ownFiles: false }), undefined);
  chmodSync(file, 0o664);
  assert.equal(resolveTrusted(file, own), undefined);
  chmodSync(file, 0o644);
  chmodSync(safe, 0o777);
  assert.equal(resolveTrusted(file, own), undefined);
  chmodSync(safe, 0o755);
  const outside = join(folder, "link");
  symlinkSync(file, outside);
  assert.equal(resolveTrusted(outside, own), file);
  for (const path of [safe, join(safe, "absent"), "/dev/null"]) assert.equal(resolveTrusted(path, own), undefined);
});

test("a program is believed behind a link only where nobody else can lead the link elsewhere", () => {
  const safe = join(folder, "behind");
  const open = join(folder, "leads");
  for (const one of [safe, open]) mkdirSync(one, { mode: 0o755 });
  const file = join(safe, "file");
  writeFileSync(file, "x", { mode: 0o644 });
  symlinkSync(safe, join(open, "current"));
  symlinkSync("leads/current", join(folder, "relative"));
  symlinkSync("round", join(folder, "round"));
  const paths = [join(open, "current", "file"), join(folder, "relative", "file")];
  for (const path of paths) assert.equal(resolveTrusted(path, own), file);
  chmodSync(open, 0o777);
  for (const path of paths) assert.equal(resolveTrusted(path, own), undefined, path);
  assert.equal(resolveTrusted(join(folder, "round"), own), undefined);
});

test("the session's surroundings are refused when the server granted too much", () => {
  assert.equal(findBreach({}), null);
  assert.equal(findBreach({ SSH_ORIGINAL_COMMAND: "gw-receiver", SSH_TTY: "" }), null);
  assert.equal(findBreach({ SSH_ORIGINAL_COMMAND: "id" }), "command_not_allowed");
  assert.equal(findBreach({ SSH_ORIGINAL_COMMAND: "gw-receiver; id" }), "command_not_allowed");
  assert.equal(findBreach({ SSH_TTY: "/dev/pts/1" }), "terminal_not_allowed");
  assert.equal(findBreach({ SSH_AUTH_SOCK: "/tmp/x" }), "forwarding_not_allowed");
  assert.equal(findBreach({ DISPLAY: ":10" }), "forwarding_not_allowed");
  assert.equal(findBreach({ GW_ENVIRONMENT_PROBE: "1" }), "environment_not_allowed");
});

test("input is whole, too large or late", async () => {
  const whole = new PassThrough();
  whole.end("abc");
  assert.deepEqual(await readInput(whole, 10, 10_000), { kind: "whole", bytes: Buffer.from("abc") });
  const large = new PassThrough();
  large.write("x".repeat(11));
  assert.deepEqual(await readInput(large, 10, 10_000), { kind: "too_large" });
  const late = new PassThrough();
  late.write("abc");
  assert.deepEqual(await readInput(late, 10, 20), { kind: "late" });
});

test("a reader that hangs or has gone does not hold the speaker", async () => {
  const stuck = new PassThrough({ highWaterMark: 1 });
  const speaker = createSpeaker(stuck);
  speaker.say({ kind: "started", requestId: "call_00000001" });
  await speaker.drain(20);
  const gone = new PassThrough();
  const other = createSpeaker(gone);
  gone.destroy(new Error("EPIPE"));
  other.say({ kind: "started", requestId: "call_00000001" });
  await other.drain(10_000);
});

test("the check names what is wrong and the sudo rules to write", () => {
  const lines: string[] = [];
  const say = (line: string) => lines.push(line);
  assert.equal(check(join(folder, "absent"), own, say), 1);
  const state = join(folder, "check-state");
  mkdirSync(state, { mode: 0o700 });
  const path = join(folder, "manifest.json");
  const write = (operations: object) =>
    writeFileSync(path, JSON.stringify({ format: "gw.receiver-manifest/v1", state, operations }), { mode: 0o600 });
  write({ one: { executable: "/bin/sh" } });
  assert.equal(check(path, own, say), 1);
  assert.ok(lines.some((line) => line.includes("operations/one/executable")));
  write({ one: { executable: "/nonexistent" } });
  assert.equal(check(path, own, say), 1);
  write({ one: { executable: "/bin/true" } });
  assert.equal(check(path, own, say), 0);
  if (existsSync("/usr/bin/sudo")) {
    write({ one: { executable: "/usr/bin/sudo", arguments: ["-n", "--", "/bin/true"] } });
    lines.length = 0;
    check(path, own, say);
    assert.ok(lines.some((line) => line.startsWith("sudoers:") && line.endsWith("NOPASSWD: /bin/true")));
  }
});

test("the check says what the account may not read or run", { skip: asRoot && "root may do both" }, () => {
  const lines: string[] = [];
  const say = (line: string) => lines.push(line);
  const state = join(folder, "closed-state");
  mkdirSync(state, { mode: 0o700 });
  const path = join(folder, "closed.json");
  const program = join(folder, "closed-program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o600 });
  const operations = { one: { executable: program } };
  writeFileSync(path, JSON.stringify({ format: "gw.receiver-manifest/v1", state, operations }), { mode: 0o600 });
  assert.equal(check(path, own, say), 1);
  assert.equal(lines[0], `one: this account cannot run ${program}. As root: chmod 755 ${program}`);
  chmodSync(path, 0o000);
  lines.length = 0;
  assert.equal(check(path, own, say), 1);
  assert.deepEqual(lines, [`${path}: this account cannot read it. As root: chmod 644 ${path}`]);
});

function isRunning(pid: number): boolean {
  try {
    return !/^State:\t[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

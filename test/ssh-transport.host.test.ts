import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TransportObservation } from "../src/conventions/outcome/observation.ts";
import type { SshRecording } from "../src/conventions/ssh/recording.ts";
import type { Sleep } from "../src/kernel/clock.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import {
  ed25519,
  keySigner,
  missingForSsh,
  nextRequestId,
  publicLine,
  realSleep,
  type Stand,
  standInAccount,
  startStand,
  writeProgram,
} from "./ssh-stand.ts";

standInAccount(import.meta.filename);
const missing = missingForSsh();
const real = (name: string, run: () => Promise<void>) => test(name, { skip: missing ?? false, timeout: 90_000 }, run);

const scripts = mkdtempSync(join(tmpdir(), "gw-ssh-programs-"));
const program = (name: string, script: string) => writeProgram({ folder: scripts }, name, script);
const gatewayKey = keySigner(ed25519());
let stand: Stand;

before(async () => {
  if (missing !== null) return;
  const worker = { worker: { characters: "a-z0-9-", first: "a-z", max: 32 } };
  stand = await startStand({
    operations: {
      release_status: {
        executable: program(
          "release-status",
          `printf '{"release_id":"r1","phase":"active","active_revision":"a1","migration_version":"7"}\\n'`,
        ),
        arguments: ["--json"],
      },
      restart_worker: {
        executable: program("restart-worker", `echo "$1" >> "${scripts}/restarted"; echo "restarted $1"`),
        arguments: [{ field: "worker" }],
        fields: worker,
      },
      fail: { executable: program("fail", "echo it broke >&2; exit 7") },
      die: { executable: program("die", "kill -9 $$") },
      hang: { executable: program("hang", "sleep 600"), timeout_s: 1 },
      slow: { executable: program("slow", "sleep 1; echo done") },
      flood: { executable: program("flood", "yes | head -c 3000000"), output_bytes: 100_000 },
      speak: { executable: program("speak", "echo one; sleep 0.1; echo two >&2") },
      look: { executable: program("look", "env; pwd; echo argc=$#") },
    },
  });
});

after(async () => {
  if (missing === null) await stand.stop();
  rmSync(scripts, { recursive: true, force: true });
});

/** The one sleep of an attempt that is its deadline; the test says when it is over, so that no machine is too slow. */
const DEADLINE = 123_456;
function deadlineWhen(over: () => boolean): Sleep {
  return {
    async sleep(ms, signal) {
      if (ms !== DEADLINE) return realSleep.sleep(ms, signal);
      while (!over() && signal?.aborted !== true) await realSleep.sleep(20, signal);
      // What was to be seen by then is on its way through two pipes.
      await realSleep.sleep(300, signal);
    },
  };
}

/** A key whose forced command is one of ours instead of the receiver. */
function forced(name: string, script: string) {
  return stand.allow(ed25519(), program(name, script));
}

const READY = `printf '{"frame":"ready","format":"gw.receiver/v1","nonce":"AAAAAAAAAAAAAAAAAAAAAA"}\\n'`;
const READ_ID = `read -r request; id=$(printf %s "$request" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/')`;
const STARTED = `printf '{"frame":"started","request_id":"%s"}\\n' "$id"`;

function expectNeverSent(seen: TransportObservation, reason: string): void {
  assert.equal(seen.kind, "never_sent", JSON.stringify(seen));
  if (seen.kind === "never_sent") assert.equal(seen.reason, reason, seen.detail);
}

function expectSilent(seen: TransportObservation, reason: string): void {
  assert.equal(seen.kind, "silent", JSON.stringify(seen));
  if (seen.kind === "silent") assert.equal(seen.reason, reason, seen.detail);
}

function expectAnswered(seen: TransportObservation, status: number, frame = "finished") {
  assert.equal(seen.kind, "answered", JSON.stringify(seen));
  assert.ok(seen.kind === "answered");
  assert.equal(seen.status, status);
  assert.equal(seen.headers["frame"], frame);
  return { text: seen.body.toString("utf8"), headers: seen.headers };
}

function expectRefused(seen: TransportObservation, code: string): void {
  assert.equal(expectAnswered(seen, -1, "refused").headers["code"], code);
}

real("a status operation answers with what the program printed", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const { text } = expectAnswered(await stand.send(signer), 0);
  assert.deepEqual(Object.keys(JSON.parse(text) as JsonObject), [
    "release_id",
    "phase",
    "active_revision",
    "migration_version",
  ]);
  assert.deepEqual(readdirSync(join(stand.folder, "run")), [], "the private folder is removed");
});

const keys: readonly (readonly [string, () => KeyObject])[] = [
  ["ECDSA P-256", () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey],
  ["ECDSA P-521", () => generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey],
  ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
];
for (const [name, make] of keys) {
  real(`${name} keys sign through the agent`, async () => {
    expectAnswered(await stand.send(stand.allow(make(), stand.receiverCommand)), 0);
  });
}

real("hosts with ECDSA and RSA keys are pinned and proven too", async () => {
  for (const hostKeyType of ["ecdsa", "rsa"] as const) {
    const other = await startStand({ hostKeyType, operations: { release_status: { executable: "/bin/true" } } });
    try {
      expectAnswered(await other.send(other.allow(ed25519(), other.receiverCommand)), 0);
    } finally {
      await other.stop();
    }
  }
});

real("exit statuses, signals and a time limit come back as the receiver reports them", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const failed = expectAnswered(await stand.send(signer, { action: "fail" }), 7);
  assert.equal(failed.text, "it broke\n");
  assert.equal(failed.headers["body"], "stderr");
  assert.equal(expectAnswered(await stand.send(signer, { action: "die" }), 137).headers["signal"], "SIGKILL");
  const late = expectAnswered(await stand.send(signer, { action: "hang" }), 143);
  assert.equal(late.headers["timed-out"], "true");
});

real("the program gets a fixed environment, a fixed folder and no arguments of the client's", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const { text } = expectAnswered(await stand.send(signer, { action: "look" }), 0);
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line));
  assert.deepEqual(lines.sort(), ["/", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "argc=0"]);
});

real("hostile field values reach no program", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  // The whole list is in the grammar's own tests; these few go all the way.
  const hostile = ["a\nb", "$(id)", "-rf", "../etc", "wоrker", "x\u202e"];
  for (const seen of await Promise.all(
    hostile.map((worker) => stand.send(signer, { action: "restart_worker", fields: { worker } })),
  )) {
    expectRefused(seen, "field_not_allowed");
  }
  expectRefused(
    await stand.send(signer, { action: "restart_worker", fields: { worker: "a", extra: "b" } }),
    "field_unknown",
  );
  expectRefused(await stand.send(signer, { action: "id" }), "action_unknown");
  assert.equal(existsSync(join(scripts, "restarted")), false);
  const { text } = expectAnswered(
    await stand.send(signer, { action: "restart_worker", fields: { worker: "web-1" } }),
    0,
  );
  assert.equal(text, "restarted web-1\n");
  assert.equal(readFileSync(join(scripts, "restarted"), "utf8"), "web-1\n");
});

real("values that no receiver could read are not sent at all", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  for (const fields of [{ nonce: "x" }, { signature: "x" }, { "a b": "x" }, { a: ["x"] }, { a: 1.5 }, { a: null }]) {
    expectNeverSent(await stand.send(signer, { fields }), "helper_failed");
  }
  expectNeverSent(await stand.send(signer, { fields: { a: "x".repeat(20_000) } }), "helper_failed");
  for (const more of [{ host: "-oProxyCommand=id" }, { host: "a b" }, { user: "-l" }, { user: "a b" }, { port: 0 }]) {
    expectNeverSent(await stand.send(signer, more), "helper_failed");
  }
});

real("a repeated request identifier is refused, also after the first one failed", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  expectAnswered(await stand.send(signer, { action: "fail", requestId }), 7);
  expectRefused(await stand.send(signer, { action: "fail", requestId }), "request_repeated");
  expectRefused(await stand.send(signer, { requestId }), "request_repeated");
});

real("start and completion are on the host's disk", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  expectAnswered(await stand.send(signer, { action: "restart_worker", fields: { worker: "web-2" }, requestId }), 0);
  const [started, finished] = readFileSync(join(stand.state, "requests", requestId), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  assert.equal(started?.["event"], "action_started");
  assert.equal(started?.["operation"], "restart_worker");
  assert.deepEqual(started?.["fields"], { worker: "web-2" });
  assert.match(String(started?.["from"]), /^127\.0\.0\.1 /);
  assert.equal(finished?.["event"], "action_finished");
  assert.equal(finished?.["exit_status"], 0);
});

real("the record tells what became of a request, and an unseen one can never run afterwards", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const ask = async (of: string) =>
    JSON.parse(
      expectAnswered(await stand.send(signer, { action: "request_status", fields: { of } }), 0).text,
    ) as JsonObject;
  const done = nextRequestId();
  expectAnswered(await stand.send(signer, { action: "fail", requestId: done }), 7);
  const finished = await ask(done);
  assert.equal(finished["state"], "finished");
  assert.equal(finished["exit_status"], 7);
  const unseen = nextRequestId();
  assert.equal((await ask(unseen))["state"], "absent");
  expectRefused(await stand.send(signer, { requestId: unseen }), "request_repeated");
  assert.equal((await ask(unseen))["state"], "absent");
});

real("a gateway that gives up leaves the operation running to its recorded end", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  const file = join(stand.state, "requests", requestId);
  const giveUp = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => existsSync(file)) } };
  expectSilent(await stand.send(signer, { action: "slow", requestId }, giveUp), "timeout");
  for (let turn = 0; turn < 100 && !readFileSync(file, "utf8").includes("action_finished"); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.match(readFileSync(file, "utf8"), /"action_finished".*"exit_status":0/);
});

real("output beyond the manifest's bound is cut and said to be", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const flood = await stand.send(signer, { action: "flood" }, { limits: { responseBytes: 1_000_000 } });
  assert.equal(expectAnswered(flood, 0).text.length, 100_000);
  assert.equal(expectAnswered(flood, 0).headers["truncated"], "true");
  const small = await stand.send(signer, { action: "flood" }, { limits: { responseBytes: 1_000 } });
  assert.equal(expectAnswered(small, 0).text.length, 1_000);
  assert.equal(expectAnswered(small, 0).headers["truncated"], "true");
});

real("nobody listens: nothing was sent", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  expectNeverSent(await stand.send(signer, { port: 1 }), "connect_refused");
});

real("a silent peer: nothing was sent", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => held.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const signer = keySigner(ed25519());
  const whenHeld = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => held.length > 0) } };
  expectNeverSent(await stand.send(signer, { port }, whenHeld), "deadline");
  expectNeverSent(await stand.send(signer, { port }, { options: { connectTimeoutMs: 1_000 } }), "connect_timeout");
  for (const socket of held) socket.destroy();
  server.close();
});

real("an unknown name: nothing was sent, and no connection was tried", async () => {
  const seen = await stand.send(keySigner(ed25519()), { host: "no-such-host.invalid" });
  expectNeverSent(seen, "name_not_resolved");
  assert.ok(seen.kind === "never_sent" && !seen.connected);
});

real("another host key of the same or another kind: nothing was signed or sent", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  expectNeverSent(await stand.send(signer, { hostKey: publicLine(keySigner(ed25519())) }), "host_key_mismatch");
  const ec = publicLine(keySigner(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey));
  expectNeverSent(await stand.send(signer, { hostKey: ec }), "host_key_mismatch");
});

real("a host that changed its key is another host", async () => {
  const other = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
  try {
    const signer = other.allow(ed25519(), other.receiverCommand);
    expectAnswered(await other.send(signer), 0);
    const file = join(other.folder, "host_key");
    rmSync(file);
    spawnSync("ssh-keygen", ["-q", "-N", "", "-t", "ed25519", "-f", file]);
    process.kill(other.sshdPid, "SIGHUP");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expectNeverSent(await other.send(signer), "host_key_mismatch");
  } finally {
    await other.stop();
  }
});

real("a key that the host does not know: nothing was sent", async () => {
  expectNeverSent(await stand.send(keySigner(ed25519())), "authentication_refused");
  expectNeverSent(await stand.send(keySigner(ed25519()), { user: "nobody-here" }), "authentication_refused");
});

real("a signer that refuses, fails or signs something else gets nothing sent", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const throwing = { ...signer, sign: () => Promise.reject(new Error("locked")) };
  expectNeverSent(await stand.send(throwing), "credential_refused");
  const wrong = { ...signer, sign: (data: Buffer, flags: number) => keySigner(ed25519()).sign(data, flags) };
  expectNeverSent(await stand.send(wrong), "credential_refused");
});

real("one connection asks for one signature", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  let signatures = 0;
  const counted = {
    ...signer,
    sign(data: Buffer, flags: number) {
      signatures++;
      return signer.sign(data, flags);
    },
  };
  expectAnswered(await stand.send(counted), 0);
  assert.equal(signatures, 1);
});

real("a missing receiver: the payload never left", async () => {
  expectNeverSent(await stand.send(stand.allow(ed25519(), "/nonexistent/gw-receiver")), "receiver_not_ready");
  expectNeverSent(await stand.send(forced("silent-exit", "exit 0")), "receiver_not_ready");
});

real("a receiver that never becomes ready: the payload never left", async () => {
  const marker = join(scripts, "mute-runs");
  const late = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => existsSync(marker)) } };
  expectNeverSent(await stand.send(forced("mute", `touch ${marker}; sleep 5`), {}, late), "deadline");
});

real("a connection killed before ready: the payload never left", async () => {
  expectNeverSent(await stand.send(forced("cut-early", "kill -9 $PPID; sleep 1")), "receiver_not_ready");
});

real("a connection killed after the payload is unknown", async () => {
  const script = `${READY}\n${READ_ID}\nkill -9 $PPID; sleep 1`;
  expectSilent(await stand.send(forced("cut-after-payload", script)), "connection_lost");
});

real("a connection killed after started is unknown", async () => {
  const script = `${READY}\n${READ_ID}\n${STARTED}\nsleep 0.2; kill -9 $PPID; sleep 1`;
  expectSilent(await stand.send(forced("cut-after-start", script)), "connection_lost");
});

for (const status of [0, 1, 255]) {
  real(`a receiver that exits ${status} after the payload without a last frame is unknown`, async () => {
    const script = `${READY}\n${READ_ID}\n${STARTED}\nexit ${status}`;
    expectSilent(await stand.send(forced(`exit-${status}`, script)), "connection_lost");
  });
}

real("a receiver killed by a signal after the payload is unknown", async () => {
  const script = `${READY}\n${READ_ID}\n${STARTED}\nkill -9 $$`;
  expectSilent(await stand.send(forced("self-kill", script)), "connection_lost");
});

real("a frozen server after the payload is unknown", async () => {
  const marker = join(scripts, "frozen");
  const script = `${READY}\n${READ_ID}\n${STARTED}\nkill -STOP $PPID; touch ${marker}; sleep 2; kill -CONT $PPID`;
  const late = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => existsSync(marker)) } };
  expectSilent(await stand.send(forced("freeze", script), {}, late), "timeout");
});

real("stopping an attempt before the payload is never sent, after it unknown", async () => {
  const early = new AbortController();
  early.abort();
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  expectNeverSent(await stand.send(signer, {}, { limits: { signal: early.signal } }), "aborted");
  const waiting = new AbortController();
  setTimeout(() => waiting.abort(), 800);
  expectNeverSent(await stand.send(forced("mute-2", "sleep 5"), {}, { limits: { signal: waiting.signal } }), "aborted");
  const marker = join(scripts, "running");
  const late = new AbortController();
  const sent = stand.send(
    forced("long", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`),
    {},
    { limits: { signal: late.signal } },
  );
  await appears(marker);
  late.abort();
  expectSilent(await sent, "aborted");
});

const forgeries: readonly (readonly [string, string, "never_sent" | "silent"])[] = [
  ["a banner before ready", `echo hello`, "never_sent"],
  ["finished before ready", `printf '{"frame":"finished"}\\n'`, "never_sent"],
  ["ready again after the payload", `${READY}\n${READ_ID}\n${READY}`, "silent"],
  ["garbage after the payload", `${READY}\n${READ_ID}\necho garbage`, "silent"],
  [
    "a start of another request",
    `${READY}\n${READ_ID}\nprintf '{"frame":"started","request_id":"call_another1"}\\n'`,
    "silent",
  ],
  [
    "an end without a start",
    `${READY}\n${READ_ID}\nprintf '{"frame":"finished","request_id":"%s","exit_status":0,"signal":null,"timed_out":false,"truncated":false}\\n' "$id"`,
    "silent",
  ],
  [
    "two ends that differ",
    `${READY}\n${READ_ID}\n${STARTED}\nfor s in 0 1; do printf '{"frame":"finished","request_id":"%s","exit_status":%s,"signal":null,"timed_out":false,"truncated":false}\\n' "$id" $s; done`,
    "silent",
  ],
  [
    "an end with a member twice",
    `${READY}\n${READ_ID}\n${STARTED}\nprintf '{"frame":"finished","request_id":"%s","exit_status":1,"exit_status":0,"signal":null,"timed_out":false,"truncated":false}\\n' "$id"`,
    "silent",
  ],
  ["half an end", `${READY}\n${READ_ID}\n${STARTED}\nprintf '{"frame":"finished","request_id":"%s"' "$id"`, "silent"],
  ["a line without end", `${READY}\n${READ_ID}\nhead -c 100000 /dev/zero | tr '\\0' x`, "silent"],
];
describe("forged frames", { concurrency: 4 }, () => {
  for (const [name, script, kind] of forgeries) {
    real(name, async () => {
      const seen = await stand.send(forced(`forged-${name.replaceAll(" ", "-")}`, script));
      if (kind === "silent") expectSilent(seen, "response_malformed");
      else expectNeverSent(seen, "receiver_not_ready");
    });
  }
});

real("a flood of well-formed output ends in unknown and does not fill the gateway", async () => {
  const line = `{"frame":"output","stream":"stdout","data":"${"QUFB".repeat(5_000)}"}`;
  writeFileSync(join(scripts, "line"), `${line}\n`);
  const script = `${READY}\n${READ_ID}\n${STARTED}\nwhile :; do cat ${join(scripts, "line")} || exit; done`;
  expectSilent(await stand.send(forced("flooder", script)), "response_too_large");
});

real("a killed client before ready is never sent, after the payload unknown", async () => {
  const early = stand.send(forced("mute-3", "sleep 5"));
  await killNamed(SSH_NAME, () => clientPids());
  const seen = await early;
  assert.equal(seen.kind, "never_sent", JSON.stringify(seen));
  const marker = join(scripts, "client-running");
  const sent = stand.send(forced("long-2", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`));
  await appears(marker);
  await killNamed(SSH_NAME, () => clientPids());
  expectSilent(await sent, "connection_lost");
});

real("a killed helper before ready is never sent, after the payload unknown, and its client ends with it", async () => {
  const early = stand.send(forced("mute-4", "sleep 5"));
  await killNamed("helper", () => helperPids());
  expectNeverSent(await early, "helper_failed");
  const marker = join(scripts, "helper-running");
  const sent = stand.send(forced("long-3", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`));
  await appears(marker);
  await killNamed("helper", () => helperPids());
  expectSilent(await sent, "helper_lost");
  for (let turn = 0; turn < 40 && clientPids().length > 0; turn++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(clientPids(), []);
});

real("a helper whose gateway is killed ends its client and itself", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => held.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const shape = { host: "127.0.0.1", port, user: "gw", hostKeyType: "ssh-ed25519", userKeyType: "ssh-ed25519" };
  const plan = JSON.stringify({ ...shape, connectTimeoutS: 60, mode: "run" });
  const words = JSON.stringify([join(stand.folder, "gw-ssh.mjs"), "/usr/bin/ssh", plan]);
  const gateway = spawn(
    process.execPath,
    [
      "-e",
      `require("node:child_process").spawn(process.execPath, ${words}, { stdio: ["pipe", "pipe", "pipe", "pipe"], env: {}, detached: true })`,
    ],
    { stdio: "ignore" },
  );
  const find = () => childrenWhere(() => true, port);
  for (let turn = 0; turn < 500 && held.length === 0; turn++) await realSleep.sleep(20);
  assert.ok(find().length >= 2, "helper and client are there");
  gateway.kill("SIGKILL");
  for (let turn = 0; turn < 500 && find().length > 0; turn++) await realSleep.sleep(20);
  assert.deepEqual(find(), []);
  for (const socket of held) socket.destroy();
  server.close();
});

real("a helper or a client that cannot be started is never sent", async () => {
  const signer = keySigner(ed25519());
  expectNeverSent(await stand.send(signer, {}, { options: { folder: "/nonexistent" } }), "helper_failed");
  const nowhere = { command: "/nonexistent/node", arguments: [] };
  expectNeverSent(await stand.send(signer, {}, { options: { helper: nowhere } }), "helper_failed");
  expectNeverSent(await stand.send(signer, {}, { options: { sshPath: "/nonexistent/ssh" } }), "helper_failed");
  const open = join(scripts, "open-ssh");
  writeFileSync(open, "#!/bin/sh\n", { mode: 0o777 });
  spawnSync("chmod", ["777", open]);
  expectNeverSent(await stand.send(signer, {}, { options: { sshPath: open } }), "helper_failed");
});

real("the genuine client, started by somebody else of the same user, gets no signature from our socket", async () => {
  const marker = join(scripts, "socket-is-there");
  let signatures = 0;
  const signer = stand.allow(ed25519(), program("mute-5", `touch ${marker}; sleep 5`));
  const counted = {
    ...signer,
    sign(data: Buffer, flags: number) {
      signatures++;
      return signer.sign(data, flags);
    },
  };
  const stop = new AbortController();
  const sent = stand.send(counted, {}, { limits: { signal: stop.signal } });
  await appears(marker);
  const [session = ""] = readdirSync(join(stand.folder, "run"));
  const cwd = join(stand.folder, "run", session);
  const options = ["-oBatchMode=yes", "-oIdentitiesOnly=yes", "-oIdentityFile=key.pub", "-oIdentityAgent=agent.sock"];
  const known = ["-oUserKnownHostsFile=known_hosts", "-oHostKeyAlias=gw-pinned", "-oStrictHostKeyChecking=yes"];
  const words = ["-F", "none", ...options, ...known, "-p", String(stand.port), "-l", stand.user, "127.0.0.1", "id"];
  const done = await new Promise<string>((resolve) => {
    const child = spawn("/usr/bin/ssh", words, { cwd, stdio: ["ignore", "ignore", "pipe"] });
    let text = "";
    child.stderr.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.on("close", (status) => resolve(`${status} ${text}`));
  });
  assert.ok(done.startsWith("255 ") && done.includes("Permission denied"), done);
  assert.equal(signatures, 1);
  stop.abort();
  expectNeverSent(await sent, "aborted");
});

real("a session opened with another key, by somebody who bent the client's own files, gets no request", async () => {
  const theirs = join(scripts, "their-key");
  spawnSync("ssh-keygen", ["-q", "-N", "", "-t", "ed25519", "-f", theirs]);
  const got = join(scripts, "their-request");
  const line = readFileSync(`${theirs}.pub`, "utf8").split(" ").slice(0, 2).join(" ");
  const command = program("their-receiver", `${READY}\ncat > ${got}`);
  appendFileSync(join(stand.folder, "authorized_keys"), `restrict,command="${command}" ${line}\n`);
  const socket = join(scripts, "their-agent.sock");
  const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
  try {
    await appears(socket);
    spawnSync("ssh-add", ["-q", theirs], { env: { SSH_AUTH_SOCK: socket }, stdio: "ignore" });
    const sent = stand.send(stand.allow(ed25519(), stand.receiverCommand));
    const [session = ""] = readdirSync(join(stand.folder, "run"));
    const at = (name: string) => join(stand.folder, "run", session, name);
    await appears(at("agent.sock"));
    rmSync(at("agent.sock"));
    symlinkSync(socket, at("agent.sock"));
    writeFileSync(at("key.pub"), `${line}\n`);
    expectNeverSent(await sent, "credential_refused");
    assert.ok(!existsSync(got) || readFileSync(got, "utf8") === "");
  } finally {
    agent.kill("SIGKILL");
  }
});

real("twelve requests at once each get their own answer", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const names = Array.from({ length: 12 }, (_, index) => `web-${index + 10}`);
  const seen = await Promise.all(
    names.map((worker) => stand.send(signer, { action: "restart_worker", fields: { worker } })),
  );
  assert.deepEqual(
    seen.map((each) => expectAnswered(each, 0).text),
    names.map((worker) => `restarted ${worker}\n`),
  );
});

real("of twelve equal requests one runs", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  const seen = await Promise.all(Array.from({ length: 12 }, () => stand.send(signer, { requestId })));
  const statuses = seen.map((each) => (each.kind === "answered" ? each.status : each.kind)).sort();
  assert.deepEqual(statuses, [...Array.from({ length: 11 }, () => -1), 0]);
});

real("a host that pins the gateway's key takes signed requests only", async () => {
  const pinned = await startStand({
    operations: { release_status: { executable: "/bin/true" } },
    gatewayKey: publicLine(gatewayKey),
  });
  try {
    const signer = pinned.allow(ed25519(), pinned.receiverCommand);
    expectRefused(await pinned.send(signer), "signature_missing");
    const other = keySigner(ed25519());
    expectRefused(await pinned.send(signer, {}, { options: { requestSigner: other } }), "signature_invalid");
    expectAnswered(await pinned.send(signer, {}, { options: { requestSigner: gatewayKey } }), 0);
    const failing = { ...gatewayKey, sign: () => Promise.reject(new Error("locked")) };
    expectNeverSent(await pinned.send(signer, {}, { options: { requestSigner: failing } }), "helper_failed");
  } finally {
    await pinned.stop();
  }
});

real("a recording holds what was written, when it was, up to its cap", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const sealed: SshRecording[] = [];
  const recorder = { seal: async (recording: SshRecording) => void sealed.push(recording) };
  expectAnswered(await stand.send(signer, { action: "speak" }, { options: { recorder } }), 0);
  assert.equal(sealed.length, 0, "recording is off unless asked for");
  expectAnswered(await stand.send(signer, { action: "speak", recording: "on" }, { options: { recorder } }), 0);
  const chunks = sealed[0]?.chunks ?? [];
  assert.deepEqual(
    chunks.map(({ stream, data }) => [stream, data.toString()]),
    [
      ["stdout", "one\n"],
      ["stderr", "two\n"],
    ],
  );
  assert.ok((chunks[0]?.afterMs ?? 0) <= (chunks[1]?.afterMs ?? 0));
  const capped = { recorder, recordingBytes: 5 };
  expectAnswered(await stand.send(signer, { action: "speak", recording: "on" }, { options: capped }), 0);
  assert.equal(sealed[1]?.capped, true);
  assert.equal(Buffer.concat((sealed[1]?.chunks ?? []).map(({ data }) => data)).length, 5);
});

real("the helper's and the client's environment and arguments hold nothing of ours", async () => {
  const marker = join(scripts, "inspect");
  const sent = stand.send(forced("long-4", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`));
  await appears(marker);
  const [helper] = helperPids();
  const [client] = clientPids();
  for (const pid of [helper, client]) assert.equal(readFileSync(`/proc/${pid}/environ`, "latin1"), "");
  const files = readdirSync(`/proc/${client}/fd`).length;
  assert.ok(files < 16, `${files} descriptors`);
  process.kill(Number(client), "SIGKILL");
  expectSilent(await sent, "connection_lost");
});

const SSH_NAME = "ssh";

function clientPids(): string[] {
  return childrenWhere((words) => words[0] === "/usr/bin/ssh");
}

function helperPids(): string[] {
  return childrenWhere((words) => words.some((word) => word.endsWith("gw-ssh.mjs")));
}

/** Processes of this test's own stand: their arguments name its port. */
function childrenWhere(test_: (words: readonly string[]) => boolean, port = stand.port): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
      const ours =
        words.includes(String(port)) || words.some((word) => word.startsWith("{") && word.includes(`"port":${port},`));
      return ours && test_(words);
    } catch {
      return false;
    }
  });
}

async function appears(path: string): Promise<void> {
  for (let turn = 0; turn < 500; turn++) {
    if (existsSync(path)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`${path} did not appear`);
}

async function killNamed(name: string, find: () => string[]): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    const [pid] = find();
    if (pid !== undefined) return void process.kill(Number(pid), "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`no ${name} was seen`);
}

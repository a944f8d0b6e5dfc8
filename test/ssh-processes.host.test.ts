import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before } from "node:test";
import { createSshTransport } from "../src/adapters/transport/ssh/transport.ts";
import { appears, expectAnswered, expectNeverSent, expectSilent, READ_ID, READY, STARTED } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { ed25519, keySigner, realSleep, receipt, type Stand, startStand } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

let stand: Stand;

before(async () => {
  if (missing !== null) return;
  stand = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
});

after(async () => {
  if (missing === null) await stand.stop();
  removeScripts();
});

/** A key whose forced command is one of ours instead of the receiver. */
function forced(name: string, script: string) {
  return stand.allow(ed25519(), program(name, script));
}

real("a killed client before ready is never sent, after the payload unknown", async () => {
  const early = stand.send(forced("mute-3", "sleep 5"));
  await killNamed(SSH_NAME, () => clientPids());
  const seen = await early;
  assert.equal(seen.kind, "never_sent", JSON.stringify(seen));
  await noneLeft();
  const marker = join(scripts, "client-running");
  const sent = stand.send(forced("long-2", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`));
  await appears(marker);
  await killNamed(SSH_NAME, () => clientPids());
  expectSilent(await sent, "connection_lost");
});

real("a killed helper before ready is never sent, after the payload unknown, and its client ends with it", async () => {
  await noneLeft();
  const early = stand.send(forced("mute-4", "sleep 5"));
  await killNamed("helper", () => helperPids());
  expectNeverSent(await early, "helper_failed");
  await noneLeft();
  const marker = join(scripts, "helper-running");
  const sent = stand.send(forced("long-3", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`));
  await appears(marker);
  await killNamed("helper", () => helperPids());
  expectSilent(await sent, "helper_lost");
  await until("its client is gone", () => clientPids().length === 0);
});

real("a helper or a client that is killed in the moment of its signature is told as that", async () => {
  for (const find of [helperPids, clientPids]) {
    await noneLeft();
    const key = stand.allow(ed25519(), stand.receiverCommand);
    const sign = async (data: Buffer, flags: number): Promise<Buffer> => {
      const signature = await key.sign(data, flags);
      const [pid = ""] = find();
      process.kill(Number(pid), "SIGKILL");
      // Without a turn of the loop: the kernel knows, and nobody here was told yet.
      while (isRunning(pid));
      return signature;
    };
    expectNeverSent(await stand.send({ ...key, sign }), "helper_failed");
  }
});

real("a helper whose gateway is killed ends its client and itself", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => held.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const shape = { host: "127.0.0.1", port, user: "gw", hostKeyType: "ssh-ed25519", userKeyType: "ssh-ed25519" };
  const plan = { ...shape, connectTimeoutS: 60, mode: "run" };
  const order = `${JSON.stringify({ sshPath: "/usr/bin/ssh", folder: stand.folder, plan })}\n`;
  const words = JSON.stringify([join(stand.folder, "gw-ssh.mjs")]);
  const gateway = spawn(
    process.execPath,
    [
      "-e",
      `const helper = require("node:child_process").spawn(process.execPath, ${words}, { stdio: ["pipe", "pipe", "pipe", "pipe"], env: {}, detached: true });
       helper.stdio[3].write(${JSON.stringify(order)});`,
    ],
    { stdio: "ignore" },
  );
  const find = () => [...childrenWhere(() => true, port), ...helperPids()];
  for (let turn = 0; turn < 2_000 && held.length === 0; turn++) await realSleep.sleep(20);
  assert.ok(find().length >= 2, "helper and client are there");
  gateway.kill("SIGKILL");
  for (let turn = 0; turn < 2_000 && find().length > 0; turn++) await realSleep.sleep(20);
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

real("a helper that stands ready serves one call, is replaced, and goes with the transport", async () => {
  const transport = createSshTransport(stand.options({ spareHelperMs: 60_000 }));
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const limits = { timeoutMs: 60_000, responseBytes: 65_536, signal: new AbortController().signal };
  expectAnswered(await transport.send(receipt, stand.target(), signer, limits), 0);
  const [first = ""] = await theSpare();
  expectAnswered(await transport.send(receipt, stand.target(), signer, limits), 0);
  const [second = ""] = await theSpare(first);
  assert.notEqual(second, first);
  // One that was killed while it waited is noticed, or its loss is a call that never left.
  process.kill(Number(second), "SIGKILL");
  const seen = await transport.send(receipt, stand.target(), signer, limits);
  assert.ok(seen.kind === "answered" || (seen.kind === "never_sent" && seen.reason === "helper_failed"));
  transport.close();
  await until("no helper is left", () => helperPids().length === 0);
  const brief = createSshTransport(stand.options({ spareHelperMs: 50 }));
  expectAnswered(await brief.send(receipt, stand.target(), signer, limits), 0);
  await until("no helper is left", () => helperPids().length === 0);
});

function theSpare(other?: string): Promise<string[]> {
  return until("one helper stands ready", () => {
    const found = helperPids().filter((pid) => pid !== other);
    return found.length === 1 && found;
  });
}

real("the genuine client, started by somebody else of the same user, gets no signature from our socket", async () => {
  const marker = join(scripts, "socket-is-there");
  let signatures = 0;
  const signer = stand.allow(ed25519(), program("mute-90", `touch ${marker}; exec sleep 90`));
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
  const agent = spawn("/usr/bin/ssh-agent", ["-D", "-a", socket], { stdio: "ignore" });
  try {
    await appears(socket);
    spawnSync("/usr/bin/ssh-add", ["-q", theirs], { env: { SSH_AUTH_SOCK: socket }, stdio: "ignore" });
    const key = stand.allow(ed25519(), stand.receiverCommand);
    const bent = join(scripts, "their-key-as-ours");
    // A client that has read its files already is refused by the host with the bent agent: then it is tried once more.
    await until("the client opened a session with their key", async () => {
      const sent = stand.send(key);
      const [session = ""] = readdirSync(join(stand.folder, "run"));
      const at = (name: string) => join(stand.folder, "run", session, name);
      await appears(at("agent.sock"));
      writeFileSync(bent, `${line}\n`);
      renameSync(bent, at("key.pub"));
      rmSync(at("agent.sock"));
      symlinkSync(socket, at("agent.sock"));
      const observed = await sent;
      if (observed.kind === "never_sent" && observed.reason === "authentication_refused") return false;
      expectNeverSent(observed, "credential_refused");
      return true;
    });
    assert.ok(!existsSync(got) || readFileSync(got, "utf8") === "");
  } finally {
    agent.kill("SIGKILL");
  }
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
  return processesWhere((words) => words.includes(join(stand.folder, "gw-ssh.mjs")));
}

/** Processes of this test's own stand: their arguments name its port. */
function childrenWhere(test_: (words: readonly string[]) => boolean, port = stand.port): string[] {
  return processesWhere((words) => words.includes(String(port)) && test_(words));
}

function processesWhere(test_: (words: readonly string[]) => boolean): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return test_(readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0"));
    } catch {
      return false;
    }
  });
}

/** False for one that has ended, also where its parent has not asked for its status yet. */
function isRunning(pid: string): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
  } catch {
    return false;
  }
}

/** What a send before this one started may end a moment after its outcome is told: nobody is to take it for the next one's. */
async function noneLeft(): Promise<void> {
  await until("no helper and no client is left", () => helperPids().length + clientPids().length === 0);
}

async function killNamed(name: string, find: () => string[]): Promise<void> {
  const pid = await until(`a ${name} is seen`, () => find()[0]);
  process.kill(Number(pid), "SIGKILL");
}

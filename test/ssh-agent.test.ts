import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type AgentServer, serveAgent } from "../src/adapters/transport/ssh/agent-server.ts";
import { pinProgram } from "../src/adapters/transport/ssh/peer.ts";
import { decodeSshPublicKey, signSsh, verifySsh } from "../src/kernel/ssh-key.ts";
import { readSsh, sshString, sshU32 } from "../src/kernel/ssh-wire.ts";
import { keySigner } from "./ssh-stand.ts";

/**
 * The agent socket, attacked by real processes. The test itself plays the helper and Node plays the client, so that a
 * child of this process is the traced peer and can say whatever it likes.
 */
const skip = process.platform === "linux" ? false : "peers are traced on Linux";
const folder = mkdtempSync(join(tmpdir(), "gw-agent-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const host = generateKeyPairSync("ed25519").privateKey;
const user = generateKeyPairSync("ed25519").privateKey;
const sessionId = Buffer.alloc(32, 3);
const keyOf = (key: KeyObject) => decodeSshPublicKey(keySigner(key).publicKeyBlob) ?? assert.fail();
const expectation = { hostKey: keyOf(host), user: "gw", key: keyOf(user) };

const client = join(folder, "client.mjs");
writeFileSync(
  client,
  `import { connect } from "node:net";
   const [, , path, ...messages] = process.argv;
   const socket = connect(path);
   let got = Buffer.alloc(0);
   socket.on("data", (chunk) => { got = Buffer.concat([got, chunk]); next(); });
   socket.on("error", () => {});
   socket.on("close", () => { process.stdout.write(got.toString("hex")); });
   let sent = 0;
   function next() {
     let whole = 0;
     for (let at = 0; at + 4 <= got.length && at + 4 + got.readUInt32BE(at) <= got.length; at += 4 + got.readUInt32BE(at)) whole++;
     if (whole < sent) return;
     if (sent === messages.length) return socket.end();
     socket.write(Buffer.from(messages[sent++], "hex"));
   }
   socket.on("connect", next);
  `,
);

interface Server extends AgentServer {
  readonly path: string;
  readonly asked: () => number;
}

let servers = 0;
async function serve(helperPid = process.pid, program = process.execPath): Promise<Server> {
  servers++;
  const path = join(folder, `agent-${servers}.sock`);
  const signer = keySigner(user);
  let asked = 0;
  const counting = {
    ...signer,
    sign(data: Buffer, flags: number) {
      asked++;
      return signer.sign(data, flags);
    },
  };
  const server = await serveAgent(path, expectation, counting);
  const pinned = pinProgram(program);
  assert.ok(typeof pinned === "object");
  server.expect({ helperPid, helperLives: () => true, program: pinned.inode });
  const state = { get: () => server.state };
  return {
    path,
    asked: () => asked,
    strangers: server.strangers,
    expect: server.expect,
    close: server.close,
    get state() {
      return state.get();
    },
  };
}

/** Lets a program speak to the socket; returns the replies that it got. */
function speak(command: string, args: readonly string[]): Promise<Buffer[]> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
    let hex = "";
    child.stdout.on("data", (chunk: Buffer) => {
      hex += chunk.toString("latin1");
    });
    child.on("close", () => resolve(split(Buffer.from(hex, "hex"))));
  });
}

function split(bytes: Buffer): Buffer[] {
  const replies: Buffer[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4 + bytes.readUInt32BE(at)) {
    replies.push(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at)));
  }
  return replies;
}

const frame = (message: Buffer) => sshString(message).toString("hex");
const bind = (forwarding = 0, signer = host, key = host) =>
  Buffer.concat([
    Buffer.of(27),
    ...["session-bind@openssh.com", keyOf(key).blob, sessionId, signSsh(signer, sessionId, 0) ?? Buffer.alloc(0)].map(
      (part) => sshString(part),
    ),
    Buffer.of(forwarding),
  ]);
const userauth = Buffer.concat([
  sshString(sessionId),
  Buffer.of(50),
  ...["gw", "ssh-connection", "publickey"].map((part) => sshString(part)),
  Buffer.of(1),
  sshString("ssh-ed25519"),
  sshString(keyOf(user).blob),
]);
const signRequest = (data = userauth) =>
  Buffer.concat([Buffer.of(13), sshString(keyOf(user).blob), sshString(data), sshU32(0)]);

const say = (server: Server, messages: readonly Buffer[]) =>
  speak(process.execPath, [client, server.path, ...messages.map(frame)]);

test("our client gets one signature that verifies, and not another", { skip }, async () => {
  const server = await serve();
  const replies = await say(server, [bind(), Buffer.of(11), signRequest(), signRequest()]);
  assert.deepEqual(
    replies.map((reply) => reply[0]),
    [6, 12, 14, 5],
  );
  const signature = readSsh(replies[2] ?? Buffer.alloc(0), (reader) =>
    reader.byte() === 14 ? reader.string() : undefined,
  );
  assert.ok(verifySsh(expectation.key, userauth, signature ?? Buffer.alloc(0)));
  assert.equal(server.asked(), 1);
  assert.equal(server.state.offence, "signed_already");
  server.close();
});

const attacks: readonly (readonly [string, readonly Buffer[], string])[] = [
  ["a signature without a bind", [signRequest()], "not_bound"],
  ["a bind for another host", [bind(0, user, user), signRequest()], "bind_other_host"],
  ["a forged bind", [bind(0, user, host), signRequest()], "bind_forged"],
  ["a forwarded agent", [bind(1), signRequest()], "bind_forwarding"],
  ["arbitrary data to sign", [bind(), signRequest(Buffer.from("anything"))], "data_not_userauth"],
  ["adding a key", [bind(), Buffer.concat([Buffer.of(17), sshString("ssh-ed25519")])], "message_refused"],
  ["removing all keys", [bind(), Buffer.of(19)], "message_refused"],
  ["locking", [bind(), Buffer.concat([Buffer.of(22), sshString("x")])], "message_refused"],
];
for (const [name, messages, offence] of attacks) {
  test(`our own client is refused: ${name}`, { skip }, async () => {
    const server = await serve();
    const replies = await say(server, messages);
    assert.equal(replies.at(-1)?.[0], 5);
    assert.equal(server.state.offence, offence);
    assert.equal(server.asked(), 0);
    server.close();
  });
}

test("messages without length or end are dropped", { skip }, async () => {
  for (const hex of ["00000000", "00010000ff", "ffffffff"]) {
    const server = await serve();
    assert.deepEqual(await speak(process.execPath, [client, server.path, hex]), []);
    assert.equal(server.asked(), 0);
    server.close();
  }
});

test("a process of the same user that the helper did not start is a stranger, and the client is still served", {
  skip,
}, async () => {
  const server = await serve();
  // The shell stays between us and Node, so that Node's parent is not the helper.
  const words = [client, server.path, frame(bind()), frame(signRequest())];
  const replies = await speak("/bin/sh", ["-c", '"$@"; :', "sh", process.execPath, ...words]);
  assert.deepEqual(replies, []);
  assert.deepEqual(server.strangers, ["the peer was not started by the helper"]);
  assert.equal(server.asked(), 0);
  assert.deepEqual(
    (await say(server, [bind(), signRequest()])).map((reply) => reply[0]),
    [6, 14],
  );
  server.close();
});

test("a child of the helper that is another program is a stranger", {
  skip: skip || !existsSync("/usr/bin/ssh"),
}, async () => {
  const server = await serve(process.pid, "/usr/bin/ssh");
  assert.deepEqual(await say(server, [bind(), signRequest()]), []);
  assert.deepEqual(server.strangers, ["the peer is not the OpenSSH client"]);
  server.close();
});

test("a second connection of the same client is a stranger", { skip }, async () => {
  const server = await serve();
  assert.equal((await say(server, [bind()])).length, 1);
  assert.deepEqual(await say(server, [bind(), signRequest()]), []);
  assert.equal(server.asked(), 0);
  server.close();
});

test("nobody is served before the helper is known, or after it is gone", { skip }, async () => {
  const path = join(folder, "early.sock");
  const server = await serveAgent(path, expectation, keySigner(user));
  assert.deepEqual(await speak(process.execPath, [client, path, frame(bind())]), []);
  const pinned = pinProgram(process.execPath);
  assert.ok(typeof pinned === "object");
  server.expect({ helperPid: process.pid, helperLives: () => false, program: pinned.inode });
  assert.deepEqual(await speak(process.execPath, [client, path, frame(bind())]), []);
  assert.deepEqual(server.strangers, ["nobody is expected yet", "the helper is gone"]);
  server.close();
});

test("a client that is no longer what it was gets no answer: the helper goes away between two messages", {
  skip,
}, async () => {
  const path = join(folder, "leaving.sock");
  const server = await serveAgent(path, expectation, keySigner(user));
  const pinned = pinProgram(process.execPath);
  assert.ok(typeof pinned === "object");
  let looks = 0;
  server.expect({ helperPid: process.pid, helperLives: () => ++looks < 3, program: pinned.inode });
  const replies = await speak(process.execPath, [client, path, frame(bind()), frame(signRequest())]);
  assert.deepEqual(
    replies.map((reply) => reply[0]),
    [6, 5],
  );
  assert.equal(server.state.offence, "peer_gone");
  server.close();
});

test("a client that changes while the signature is being made does not get it", { skip }, async () => {
  const path = join(folder, "changing.sock");
  let lives = true;
  const signer = keySigner(user);
  const slow = {
    ...signer,
    async sign(data: Buffer, flags: number) {
      const signature = await signer.sign(data, flags);
      lives = false;
      return signature;
    },
  };
  const server = await serveAgent(path, expectation, slow);
  const pinned = pinProgram(process.execPath);
  assert.ok(typeof pinned === "object");
  server.expect({ helperPid: process.pid, helperLives: () => lives, program: pinned.inode });
  const replies = await speak(process.execPath, [client, path, frame(bind()), frame(signRequest())]);
  assert.deepEqual(
    replies.map((reply) => reply[0]),
    [6, 5],
  );
  assert.equal(server.state.offence, "peer_gone");
  server.close();
});

test("a peer that replaces its image by exec between two messages gets no signature", {
  skip: skip || !existsSync("/usr/bin/python3"),
}, async () => {
  const server = await serve(process.pid, "/usr/bin/python3");
  // The same program file again, so that only the image itself has changed.
  const script = `import os,socket,sys
if len(sys.argv) == 4:
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(bytes.fromhex(sys.argv[2])); first = s.recv(64)
    os.set_inheritable(s.fileno(), True)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", "-c", open("/proc/self/cmdline").read().split("\\0")[2], "x", sys.argv[3], str(s.fileno()), first.hex(), "y"])
s = socket.socket(fileno=int(sys.argv[3])); s.sendall(bytes.fromhex(sys.argv[2])); print(sys.argv[4] + s.recv(512).hex(), end="")`;
  const replies = await speak("/usr/bin/python3", ["-c", script, server.path, frame(bind()), frame(signRequest())]);
  assert.deepEqual(
    replies.map((reply) => reply[0]),
    [6, 5],
  );
  assert.equal(server.state.offence, "peer_changed");
  assert.equal(server.asked(), 0);
  server.close();
});

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before } from "node:test";
import { probeHost } from "../src/adapters/transport/ssh/probe.ts";
import type { ProbeResult } from "../src/conventions/ssh/probe.ts";
import { expectNeverSent, expectSilent, READ_ID, READY, STARTED } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { ed25519, keySigner, publicLine, type Stand, startStand } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

/** Hosts that mean harm, and hosts that only talk much: what they say decides nothing, and what they send is bounded. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);
const operations = { release_status: { executable: "/bin/true" } };
const WAIT_MS = 20_000;
const GREETING = "Unauthorized use of this system is prohibited: every forwarding failed here will be prosecuted. ";
let stand: Stand;
let greeting: Stand;

before(async () => {
  if (missing !== null) return;
  const banner = join(scripts, "banner");
  writeFileSync(banner, `${GREETING.repeat(60)}\n`);
  stand = await startStand({ operations });
  greeting = await startStand({ operations, sshdLines: [`Banner ${banner}`] });
});
after(async () => {
  if (missing === null) await Promise.all([stand.stop(), greeting.stop()]);
  removeScripts();
});

async function serve(answer: (socket: Socket) => void, host = "127.0.0.1") {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** As fast as the other side reads, for as long as it does. */
function pour(socket: Socket, bytes: Buffer): void {
  const go = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on("drain", go);
  go();
}

/** One packet of the binary protocol before any key was agreed on. */
function packet(payload: Buffer): Buffer {
  const rest = 8 - ((5 + payload.length) % 8);
  const padding = rest < 4 ? rest + 8 : rest;
  const head = Buffer.alloc(5);
  head.writeUInt32BE(1 + payload.length + padding);
  head[4] = padding;
  return Buffer.concat([head, payload, Buffer.alloc(padding)]);
}

function hangUp(words: string): Buffer {
  const told = Buffer.alloc(9);
  told[0] = 1;
  told.writeUInt32BE(2, 1);
  told.writeUInt32BE(Buffer.byteLength(words), 5);
  return packet(Buffer.concat([told, Buffer.from(words), Buffer.alloc(4)]));
}

const IDENT = "SSH-2.0-x\r\n";
const IGNORED = Buffer.concat(Array.from({ length: 1_000 }, () => packet(Buffer.from([2, 0, 0, 0, 0]))));

const raw: readonly (readonly [name: string, answer: (socket: Socket) => void, reason: string])[] = [
  [
    "lines without end before it names itself",
    (socket) => pour(socket, Buffer.from("x\r\n".repeat(100))),
    "connect_refused",
  ],
  ["a line without end", (socket) => pour(socket, Buffer.alloc(4_096, "x")), "connect_refused"],
  ["a connection that is reset at once", (socket) => void socket.resetAndDestroy(), "connect_refused"],
  [
    "a connection that is reset once it named itself",
    (socket) => {
      socket.write(IDENT);
      socket.once("data", () => socket.resetAndDestroy());
    },
    "connect_refused",
  ],
  [
    "a packet of two gigabytes",
    (socket) => {
      socket.write(Buffer.concat([Buffer.from(IDENT), Buffer.from("7fffffff0414", "hex")]));
      pour(socket, Buffer.alloc(65_536));
    },
    "connect_refused",
  ],
  [
    "packets without end that mean nothing",
    (socket) => {
      socket.write(IDENT);
      pour(socket, IGNORED);
    },
    "deadline",
  ],
  ["silence once it named itself", (socket) => void socket.write(IDENT), "deadline"],
];
for (const [name, answer, reason] of raw) {
  real(`${name}: nothing was sent, and nothing is left`, async () => {
    const host = await serve(answer);
    const seen = await stand.send(keySigner(ed25519()), { port: host.port }, { limits: { timeoutMs: 5_000 } });
    host.close();
    expectNeverSent(seen, reason);
    assert.deepEqual(readdirSync(stand.options().folder), []);
  });
}

for (const words of ["Could not resolve hostname", "Host key verification failed", "Permission denied"]) {
  real(`a host that hangs up with "${words}" does not choose what is said of it`, async () => {
    const host = await serve((socket) => void socket.write(Buffer.concat([Buffer.from(IDENT), hangUp(words)])));
    const seen = await stand.send(keySigner(ed25519()), { port: host.port });
    host.close();
    expectNeverSent(seen, "connect_refused");
    assert.ok(seen.kind === "never_sent" && seen.connected, "it was reached");
  });
}

real("a host that greets at length is read as any other", async () => {
  const closed = verdicts(await probe(greeting, greeting.allow(ed25519(), greeting.receiverCommand)));
  assert.deepEqual(new Set(Object.values(closed).slice(1)), new Set(["refused"]), JSON.stringify(closed));
  const open = greeting.allow(ed25519(), greeting.receiverCommand, "restrict,port-forwarding");
  assert.equal(verdicts(await probe(greeting, open))["try_remote_forward"], "permitted");
  expectNeverSent(await greeting.send(keySigner(ed25519())), "authentication_refused");
});

real("a server that opens connections is seen where the port that we know is not its own", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand, "restrict,port-forwarding");
  const before = await serve((socket) => {
    const on = connect(stand.port, "127.0.0.1");
    on.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket
      .on("close", () => on.destroy())
      .pipe(on)
      .pipe(socket);
  }, "127.0.0.2");
  const results = await probeHost(
    stand.options(),
    stand.target({ host: "127.0.0.2", port: before.port }),
    signer,
    WAIT_MS,
  );
  before.close();
  assert.equal(verdicts(results)["try_local_forward"], "permitted");
});

real("a host that is lent the agent while it is checked gets no key named and nothing signed", async () => {
  const told = join(scripts, "told");
  const [lent, file] = [join(scripts, "lent.pub"), join(scripts, "asked")];
  const key = ed25519();
  const signer = keySigner(key);
  const asking = `[ -n "$SSH_AUTH_SOCK" ] || exit 1
ssh-add -L > ${told} 2>&1
echo x > ${file}; ssh-keygen -Y sign -f ${lent} -n file ${file} >> ${told} 2>&1
echo over >> ${told}`;
  writeFileSync(lent, `${publicLine(signer)}\n`);
  stand.allow(key, program("asking", asking), "restrict,agent-forwarding");
  const results = await probeHost(stand.options(), stand.target(), signer, WAIT_MS);
  await until("it has asked", () => existsSync(told) && readFileSync(told, "utf8").includes("over"));
  const said = readFileSync(told, "utf8");
  assert.equal(said.includes("ssh-ed25519"), false, said);
  // A program that asks a line which is just being closed ends without a word.
  assert.match(said, /agent|No private key/, "the key is in no file: only the agent could sign");
  assert.equal(existsSync(`${file}.sig`), false);
  assert.notEqual(verdicts(results)["try_agent"], "refused");
});

real("what a host writes as if it were ours is told as what it wrote", async () => {
  const words = `printf '\\033[32m". Proof: nothing ran, it is safe to call again\\n' >&2; sleep 0.2; exit 3`;
  const signer = stand.allow(ed25519(), program("words", `${READY}\n${READ_ID}\n${STARTED}\n${words}`));
  const seen = await stand.send(signer);
  expectSilent(seen, "connection_lost");
  assert.ok(seen.kind === "silent");
  assert.match(seen.detail, /\(ssh exit 3\): "\[32m'\. Proof: nothing ran, it is safe to call again"$/);
});

real("empty pieces of output without end are unknown, and hold nobody up", async () => {
  const line = `${JSON.stringify({ frame: "output", stream: "stdout", data: "" })}\n`;
  writeFileSync(join(scripts, "empty"), line.repeat(2_000));
  const script = `${READY}\n${READ_ID}\n${STARTED}\nwhile :; do cat ${join(scripts, "empty")} || exit; done`;
  const signer = stand.allow(ed25519(), program("empty-pieces", script));
  expectSilent(await stand.send(signer), "response_too_large");
});

function probe(at: Stand, signer: ReturnType<Stand["allow"]>): Promise<ProbeResult[]> {
  return probeHost(at.options(), at.target(), signer, WAIT_MS);
}

function verdicts(results: readonly ProbeResult[]): Record<string, string> {
  return Object.fromEntries(results.map(({ probe: name, verdict }) => [name, verdict]));
}

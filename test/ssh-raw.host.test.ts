import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import { readdirSync } from "node:fs";
import { after, before } from "node:test";
import { writeFrame } from "../src/conventions/ssh/frames.ts";
import type { SendLimits } from "../src/gateway/ports.ts";
import { Denied } from "../src/kernel/failure.ts";
import { readSsh, sshString, sshU32 } from "../src/kernel/ssh-wire.ts";
import { expectAnswered, expectNeverSent, expectSilent } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { type Message, MSG, type RawSession, startRawHost } from "./ssh-raw-host.ts";
import { ed25519, keySigner, type Stand, startStand } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

/** The pinned host itself means harm, and speaks the protocol as no sshd does: it proves its key and then says what it likes. */
const { missing, real, removeScripts } = beginSshFile(import.meta.filename);
let stand: Stand;

before(async () => {
  if (missing === null) stand = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
});
after(async () => {
  if (missing === null) await stand.stop();
  removeScripts();
});

/** What a test's host does otherwise than an honest one. */
interface Misdeeds {
  /** The client asks to be let in; true where this was the answer. */
  authenticate?(session: RawSession, signed: boolean): boolean;
  /** Its command runs, and is about to say that it is ready. */
  beforeReady?(session: RawSession): Promise<void>;
  /** The request is there, and nothing has been said of it. */
  beforeStart?(session: RawSession): Promise<void>;
  /** How much the client may write. */
  readonly window?: number;
}

const CHANNEL = sshU32(0);
const NONCE = "A".repeat(22);

async function visit(
  { authenticate, beforeReady, beforeStart, window = 1 << 20 }: Misdeeds,
  limits: Partial<SendLimits> = { timeoutMs: 30_000 },
  hostKey: KeyObject = ed25519(),
) {
  const messages: Message[] = [];
  const say = (session: RawSession, text: string): void => session.send(MSG.data, CHANNEL, text);
  const start = async (session: RawSession, requestId: string): Promise<void> => {
    await beforeStart?.(session);
    say(session, writeFrame({ kind: "started", requestId }));
    const ended = { exitStatus: 0, signal: null, timedOut: false, truncated: false };
    say(session, writeFrame({ kind: "finished", requestId, ...ended }));
    session.send(MSG.close, CHANNEL);
  };
  const host = await startRawHost(hostKey, (session, message) => {
    messages.push(message);
    switch (message.number) {
      case 5:
        return session.send(MSG.serviceAccept, "ssh-userauth");
      case MSG.authRequest: {
        const { key, signed } = readAuth(message.body);
        if (authenticate?.(session, signed) === true) return;
        if (signed) return session.send(MSG.authSuccess);
        if (key === null) return session.send(MSG.authFailure, "publickey", Buffer.of(0));
        return session.send(MSG.authKeyOk, "ssh-ed25519", key);
      }
      case MSG.open:
        return session.send(MSG.openConfirmation, CHANNEL, CHANNEL, sshU32(window), sshU32(32_768));
      case MSG.request:
        session.send(MSG.success, CHANNEL);
        return void (beforeReady?.(session) ?? Promise.resolve()).then(() =>
          say(session, writeFrame({ kind: "ready", nonce: NONCE })),
        );
      case MSG.data: {
        const text = message.body.subarray(8).toString("utf8");
        return void start(session, /"request_id":"([^"]+)"/.exec(text)?.[1] ?? "");
      }
    }
  });
  try {
    const target = { port: host.port, hostKey: host.hostKey };
    const seen = await stand.send(keySigner(ed25519()), target, { limits });
    assert.deepEqual(readdirSync(stand.options().folder), [], "nothing is left");
    return { seen, messages };
  } finally {
    host.close();
  }
}

function readAuth(body: Buffer): { readonly key: Buffer | null; readonly signed: boolean } {
  const asked = readSsh(body, (one) => {
    const [, , method] = [one.string(), one.string(), one.text()];
    if (method !== "publickey") return { key: null, signed: false };
    const signed = one.byte() === 1;
    const [, blob] = [one.text(), one.string()];
    if (signed) one.string();
    return { key: sshString(blob), signed };
  });
  return asked ?? assert.fail("the client asks in another way");
}

/** What a message is about, where it says so first. */
function nameIn(body: Buffer): string {
  return body.toString("latin1", 4, 4 + body.readUInt32BE(0));
}

real("an honest host of this make is called like any other, and is asked for its command alone", async () => {
  const { seen, messages } = await visit({});
  expectAnswered(seen, 0);
  const asked = messages.filter(({ number }) => number === MSG.request).map(({ body }) => body.subarray(4));
  assert.deepEqual(asked.map(nameIn), ["exec"], "no variable, terminal, agent or display");
  assert.ok(asked[0]?.includes("gw-receiver"));
  assert.deepEqual(
    messages.filter(({ number }) => number === MSG.open).map(({ body }) => nameIn(body)),
    ["session"],
  );
});

const OPENINGS: readonly (readonly [kind: string, ...rest: (string | Buffer)[]])[] = [
  ["x11", "127.0.0.1", sshU32(6_010)],
  ["auth-agent@openssh.com"],
  ["forwarded-tcpip", "127.0.0.1", sshU32(22), "127.0.0.1", sshU32(9)],
  ["forwarded-tcpip", "", sshU32(0), "", sshU32(0)],
  ["forwarded-streamlocal@openssh.com", "/run/x.sock", ""],
  ["direct-tcpip", "127.0.0.1", sshU32(22), "127.0.0.1", sshU32(9)],
  ["direct-streamlocal@openssh.com", "agent.sock", "", sshU32(0)],
  ["tun@openssh.com", sshU32(1), sshU32(0)],
  ["session"],
];

real(
  "channels that a host opens to displays, agents, ports and sockets are refused, and the call goes on",
  async () => {
    const refused = (session: RawSession) => session.numbers.filter((number) => number === MSG.openFailure).length;
    const { seen, messages } = await visit({
      async beforeReady(session) {
        for (const [kind, ...rest] of OPENINGS)
          session.send(MSG.open, kind, sshU32(7), sshU32(65_536), sshU32(32_768), ...rest);
        await until("each is refused", () => refused(session) === OPENINGS.length);
      },
    });
    expectAnswered(seen, 0);
    assert.ok(!messages.some(({ number }) => number === MSG.openConfirmation));
  },
);

real("requests of a host that nobody asked for change nothing", async () => {
  const other = keySigner(ed25519()).publicKeyBlob;
  const { seen } = await visit({
    async beforeReady(session) {
      for (let count = 0; count < 2_000; count++) session.send(MSG.global, "keepalive@openssh.com", Buffer.of(1));
      session.send(MSG.global, "hostkeys-00@openssh.com", Buffer.of(0), sshString(other));
      session.send(MSG.global, "tcpip-forward", Buffer.of(1), "0.0.0.0", sshU32(0));
      session.send(MSG.global, "streamlocal-forward@openssh.com", Buffer.of(1), "/tmp/x");
      for (const kind of ["env", "exec", "shell", "subsystem", "auth-agent-req@openssh.com", "x11-req", "pty-req"])
        session.send(MSG.request, CHANNEL, kind, Buffer.of(1), "LD_PRELOAD", "/tmp/x.so");
      const answers = [MSG.globalFailure, MSG.failure] as const;
      const refused = () => session.numbers.filter((number) => answers.includes(number as never)).length;
      await until("each is refused", () => refused() === 2_000 + 2 + 7);
    },
  });
  expectAnswered(seen, 0);
});

real("keys that are agreed on again and again are no other session", async () => {
  const hostKey = ed25519();
  const rekeyed = async (session: RawSession): Promise<void> => {
    for (let count = 0; count < 20; count++) await session.rekey(hostKey);
  };
  const { seen } = await visit({ beforeReady: rekeyed, beforeStart: rekeyed }, undefined, hostKey);
  expectAnswered(seen, 0);
});

real("a host that shows another key in the middle is left: nothing was sent, or what was is unknown", async () => {
  const other = (session: RawSession): Promise<void> => session.rekey(ed25519());
  expectNeverSent((await visit({ beforeReady: other })).seen, "receiver_not_ready");
  expectSilent((await visit({ beforeStart: other })).seen, "connection_lost");
});

real("a host that lets us in without a signature, or wants a second one, gets no request", async () => {
  const open = await visit({
    authenticate(session) {
      session.send(MSG.authSuccess);
      return true;
    },
  });
  expectNeverSent(open.seen, "credential_refused");
  let signatures = 0;
  const again = await visit({
    authenticate(session, signed) {
      if (signed) signatures++;
      if (signed) session.send(MSG.authFailure, "publickey", Buffer.of(1));
      return signed;
    },
  });
  expectNeverSent(again.seen, "credential_refused");
  assert.equal(signatures, 1);
});

real("a host that is slow to be ready gets no request of somebody who may not ask any more", async () => {
  let over = false;
  const still = (): void => {
    if (over) throw new Denied("session_ended", "It was revoked.");
  };
  const beforeReady = async (): Promise<void> => {
    over = true;
  };
  const { seen, messages } = await visit({ beforeReady }, { timeoutMs: 30_000, still });
  expectNeverSent(seen, "aborted");
  assert.ok(!messages.some(({ number }) => number === MSG.data));
});

real("a host that takes nothing of the request is one that may have it", async () => {
  expectSilent((await visit({ window: 0 }, { timeoutMs: 5_000 })).seen, "timeout");
});

real("what a host says beside its channel is bounded as what it says on it", async () => {
  const noise = sshString(Buffer.alloc(30_000, "Proof: nothing ran. "));
  const pouring = (...parts: readonly (number | Buffer)[]): Misdeeds => ({
    beforeReady: ({ socket, send }) =>
      new Promise(() => {
        // Not more at a time than the client says that it takes: what is beyond that it only complains of.
        const pour = (): void => {
          for (let count = 0; count < 20 && socket.writableLength < 1 << 20; count++) send(...parts);
          if (!socket.destroyed) setTimeout(pour, 10);
        };
        pour();
      }),
  });
  const told = await visit(pouring(MSG.extended, CHANNEL, sshU32(1), noise));
  expectNeverSent(told.seen, "receiver_not_ready");
  const ignored = await visit(pouring(MSG.ignore, noise), { timeoutMs: 3_000 });
  expectNeverSent(ignored.seen, "deadline");
});

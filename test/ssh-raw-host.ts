import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { createServer, type Socket } from "node:net";
import { encodeSshPublicKey, signSsh } from "../src/kernel/ssh-key.ts";
import { readSsh, sshMpint, sshString, sshU32 } from "../src/kernel/ssh-wire.ts";
import { keySigner, publicLine } from "./ssh-stand.ts";

/**
 * An SSH server of our own, on a loopback port, that can say whatever the protocol has words for: sshd is honest. It speaks
 * one algorithm of each kind (RFC 4253, 5647 as OpenSSH has it, 8731) and lets in whoever it likes.
 */
export interface RawHost {
  readonly port: number;
  /** The line that a gateway pins. */
  readonly hostKey: string;
  close(): void;
}

/** One connection, from the moment that its keys are agreed on. */
export interface RawSession {
  readonly socket: Socket;
  /** Everything that the client sent, as its message numbers. */
  readonly numbers: readonly number[];
  send(...parts: readonly (number | string | Buffer)[]): void;
  /** Begins another exchange of keys, in which the host shows this one; resolves once both sides use the new ones. */
  rekey(hostKey: KeyObject): Promise<void>;
}

/** What the host says to a message of the client that is not about keys. */
export type Answering = (session: RawSession, message: Message) => void;

export interface Message {
  readonly number: number;
  /** Without the number. */
  readonly body: Buffer;
}

export const MSG = {
  ...{ disconnect: 1, ignore: 2, debug: 4, serviceAccept: 6, kexinit: 20, newkeys: 21, kexReply: 31 },
  ...{ authRequest: 50, authFailure: 51, authSuccess: 52, banner: 53, authKeyOk: 60, global: 80, globalFailure: 82 },
  ...{ open: 90, openConfirmation: 91, openFailure: 92, window: 93, data: 94, extended: 95, eof: 96, close: 97 },
  ...{ request: 98, success: 99, failure: 100 },
} as const;

const IDENT = "SSH-2.0-Raw";
const OURS = [
  ["curve25519-sha256"],
  ["ssh-ed25519"],
  ...[["aes128-gcm@openssh.com"], ["aes128-gcm@openssh.com"], ["hmac-sha2-256"], ["hmac-sha2-256"]],
  ...[["none"], ["none"], [], []],
];
const TAG = 16;

export async function startRawHost(hostKey: KeyObject, answer: Answering): Promise<RawHost> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    speak(socket, hostKey, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    hostKey: publicLine(keySigner(hostKey)),
    close(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function speak(socket: Socket, firstKey: KeyObject, answer: Answering): void {
  let hostKey = firstKey;
  let heard: Buffer = Buffer.alloc(0);
  let clientIdent: string | null = null;
  let [ours, theirs]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];
  let sessionId: Buffer | null = null;
  let [reading, writing]: [Sealing | null, Sealing | null] = [null, null];
  let next: { readonly reading: Sealing; readonly writing: Sealing } | null = null;
  let agreed = (): void => undefined;
  const numbers: number[] = [];

  const send: RawSession["send"] = (...parts) => {
    const payload = Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.of(part) : asBytes(part))));
    if (!socket.destroyed) socket.write(writing === null ? plain(payload) : writing.seal(payload));
  };
  const offer = (): void => {
    ours = Buffer.concat([Buffer.of(MSG.kexinit), randomBytes(16), ...OURS.map(list), Buffer.alloc(5)]);
    send(ours);
  };
  const session: RawSession = {
    socket,
    numbers,
    send,
    rekey: (key) =>
      new Promise((resolve) => {
        hostKey = key;
        agreed = resolve;
        offer();
      }),
  };
  const agree = (clientPoint: Buffer): void => {
    const own = generateKeyPairSync("x25519");
    const point = Buffer.from(String(own.publicKey.export({ format: "jwk" }).x), "base64url");
    const x = clientPoint.toString("base64url");
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
    const secret = sshMpint(diffieHellman({ privateKey: own.privateKey, publicKey }));
    const blob = encodeSshPublicKey(hostKey) ?? Buffer.alloc(0);
    const said = [clientIdent ?? "", IDENT, theirs, ours, blob, clientPoint, point].map((part) => sshString(part));
    const digest = sha256(...said, secret);
    const id = sessionId ?? digest;
    send(MSG.kexReply, sshString(blob), sshString(point), sshString(signSsh(hostKey, digest, 0) ?? Buffer.alloc(0)));
    send(MSG.newkeys);
    const derived = (letter: string): Buffer => sha256(secret, digest, Buffer.from(letter), id);
    sessionId = id;
    next = { reading: sealing(derived("A"), derived("C")), writing: sealing(derived("B"), derived("D")) };
    writing = next.writing;
  };
  const take = (payload: Buffer): void => {
    const [number = 0, body] = [payload[0], payload.subarray(1)];
    numbers.push(number);
    switch (number) {
      case MSG.kexinit:
        theirs = payload;
        return;
      case 30:
        agree(readSsh(body, (reader) => reader.string()) ?? Buffer.alloc(0));
        return;
      case MSG.newkeys:
        reading = next?.reading ?? null;
        agreed();
        return;
      default:
        answer(session, { number, body });
    }
  };
  socket.on("data", (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]);
    if (clientIdent === null) {
      const end = heard.indexOf("\r\n");
      if (end < 0) return;
      clientIdent = heard.toString("latin1", 0, end);
      heard = heard.subarray(end + 2);
      offer();
    }
    for (;;) {
      if (heard.length < 4) return;
      const length = 4 + heard.readUInt32BE(0) + (reading === null ? 0 : TAG);
      if (heard.length < length) return;
      const packet = heard.subarray(0, length);
      heard = heard.subarray(length);
      const opened = reading === null ? packet.subarray(4) : reading.open(packet);
      take(Buffer.from(opened.subarray(1, opened.length - (opened[0] ?? 0))));
    }
  });
  socket.write(`${IDENT}\r\n`);
}

interface Sealing {
  seal(payload: Buffer): Buffer;
  open(packet: Buffer): Buffer;
}

/** AES-GCM: the length in clear and vouched for, the last eight bytes of the nonce count. */
function sealing(iv: Buffer, key: Buffer): Sealing {
  const [nonce, short] = [Buffer.from(iv.subarray(0, 12)), key.subarray(0, 16)];
  const count = (): Buffer => {
    const now = Buffer.from(nonce);
    nonce.writeBigUInt64BE(BigInt.asUintN(64, nonce.readBigUInt64BE(4) + 1n), 4);
    return now;
  };
  return {
    seal(payload) {
      const rest = padded(payload, 0);
      const length = sshU32(rest.length);
      const cipher = createCipheriv("aes-128-gcm", short, count()).setAAD(length);
      return Buffer.concat([length, cipher.update(rest), cipher.final(), cipher.getAuthTag()]);
    },
    open(packet) {
      const decipher = createDecipheriv("aes-128-gcm", short, count()).setAAD(packet.subarray(0, 4));
      decipher.setAuthTag(packet.subarray(-TAG));
      return Buffer.concat([decipher.update(packet.subarray(4, -TAG)), decipher.final()]);
    },
  };
}

function plain(payload: Buffer): Buffer {
  const rest = padded(payload, 4);
  return Buffer.concat([sshU32(rest.length), rest]);
}

/** With its padding, to whole blocks of sixteen; so many bytes more belong to the first. */
function padded(payload: Buffer, before: number): Buffer {
  const lacking = 16 - ((before + 1 + payload.length) % 16);
  const padding = lacking < 4 ? lacking + 16 : lacking;
  return Buffer.concat([Buffer.of(padding), payload, Buffer.alloc(padding)]);
}

function asBytes(part: string | Buffer): Buffer {
  return typeof part === "string" ? sshString(part) : part;
}

function list(names: readonly string[]): Buffer {
  return sshString(names.join(","));
}

function sha256(...parts: readonly Buffer[]): Buffer {
  return createHash("sha256").update(Buffer.concat(parts)).digest();
}

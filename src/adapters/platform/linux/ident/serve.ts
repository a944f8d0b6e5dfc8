import { chmodSync, closeSync } from "node:fs";
import { defaults } from "../../../../kernel/defaults.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { unixAddress } from "../address.ts";
import { holdProcess } from "../hold.ts";
import { loadLibc, uninterrupted } from "../libc.ts";
import { inodeOf as numberOf, pidOf, readCredentials } from "../peer.ts";
import { type IdentAnswer, QUESTION } from "./answer.ts";
import { closeAll, describeErrno, receiveMessage, sendMessage } from "./message.ts";

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const SOCK_CLOEXEC = 0o2000000;
const BACKLOG = 64;

/** The socket of gw-ident: for its own user and group, which is the gateway's. */
export function listenForGateway(path: string): number {
  const libc = loadLibc();
  const address = unixAddress(path);
  const fd = libc.socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) throw refused(path, "socket");
  if (libc.bind(fd, address, address.length) < 0) throw refused(path, "bind");
  chmodSync(path, 0o660);
  if (libc.listen(fd, BACKLOG) < 0) throw refused(path, "listen");
  return fd;
}

/** Answers one question after another until it is ended. Whoever is not the gateway's user is told so and nothing else. */
export function serveGateway(listening: number, gatewayUid: number): never {
  const libc = loadLibc();
  for (;;) {
    const socket = uninterrupted(() => libc.accept4(listening, null, null, SOCK_CLOEXEC));
    if (socket < 0) throw refused("its socket", "accept");
    try {
      serveOne(socket, gatewayUid);
    } finally {
      closeSync(socket);
    }
  }
}

function serveOne(socket: number, gatewayUid: number): void {
  const { uid } = readCredentials(socket);
  if (uid !== gatewayUid) {
    reply(socket, { kind: "refused", code: "ident_stranger", message: `gw-ident serves user ${gatewayUid} alone` }, []);
    return;
  }
  const asked = receiveMessage(socket, defaults.identWaitMs);
  if (asked === undefined) return;
  const [pidfd, ...others] = asked.descriptors;
  closeAll(others);
  if (pidfd === undefined || asked.bytes.toString("latin1") !== QUESTION) {
    closeAll(asked.descriptors.slice(0, 1));
    reply(socket, { kind: "refused", code: "ident_unavailable", message: "the question is not one of ours" }, []);
    return;
  }
  answer(socket, pidfd);
}

/** Takes over the pidfd. What it opens is the process behind it and no later one with its pid: it is alive afterwards. */
function answer(socket: number, pidfd: number): void {
  let pid: number | undefined;
  try {
    pid = pidOf(pidfd);
  } catch {
    pid = undefined;
  }
  if (pid === undefined || pid <= 0) {
    closeSync(pidfd);
    reply(
      socket,
      { kind: "refused", code: "caller_unknown", message: "there is no process behind it that we see" },
      [],
    );
    return;
  }
  try {
    const hold = holdProcess({ pid, uid: -1, pidfd, pidfdInode: numberOf(pidfd), durable: true });
    try {
      const { image, maps, execWatch, path, landmarks, namespaces } = hold;
      const found = { kind: "held", pid, path, landmarks, namespaces, watched: execWatch !== undefined } as const;
      reply(socket, found, [image, maps, ...(execWatch === undefined ? [] : [execWatch.fd])]);
    } finally {
      hold.close();
    }
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    reply(socket, { kind: "refused", code: error.code, message: error.message }, []);
  }
}

/** An answer that does not fit is a caller that is refused, never a silence: that would look like our own failure. */
function reply(socket: number, words: IdentAnswer, descriptors: readonly number[]): void {
  const bytes = (said: IdentAnswer): Buffer => Buffer.from(JSON.stringify(said), "utf8");
  if (sendMessage(socket, { bytes: bytes(words), descriptors })) return;
  const message = "what is to be told of this process does not fit an answer";
  sendMessage(socket, { bytes: bytes({ kind: "refused", code: "caller_unreadable", message }), descriptors: [] });
}

function refused(path: string, what: string): Denied {
  return new Denied("ident_unavailable", `gw-ident cannot listen at ${path}: ${describeErrno(what)}`);
}

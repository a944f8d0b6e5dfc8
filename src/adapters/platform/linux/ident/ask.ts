import { closeSync } from "node:fs";
import { type Code, codes } from "../../../../kernel/codes.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { unixAddress } from "../address.ts";
import { readBootMs } from "../boot-clock.ts";
import { loadLibc } from "../libc.ts";
import { type Peer, readCredentials } from "../peer.ts";
import { EPOLLIN, type Reactor } from "../reactor.ts";
import { type IdentAnswer, parseAnswer, QUESTION } from "./answer.ts";
import { closeAll, describeErrno, type Message, receiveMessage, sendMessage, waitReadable } from "./message.ts";

/** What gw-ident opened for us. The descriptors belong to whoever asked. */
export interface Opened extends Omit<Extract<IdentAnswer, { readonly kind: "held" }>, "kind" | "watched"> {
  readonly image: number;
  readonly maps: number;
  readonly execWatch: number | undefined;
}

export interface Ident {
  /** Rejects with `Denied` when it does not answer in time; everybody else is served meanwhile. */
  hold(peer: Peer): Promise<Opened>;
  /** In place, for a check between two steps of a call: bounded, and for a while after a silence not waited for at all. */
  look(peer: Peer): Opened;
}

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const SOCK_CLOEXEC = 0o2000000;
/** A queue that is full must not hold us up. */
const SOCK_NONBLOCK = 0o4000;

/**
 * Asks gw-ident, which may look at processes of other users. Each question has a connection of its own, so a gw-ident that
 * was started again is met as if nothing had happened, and one caller that takes long keeps nobody else's answer.
 */
export function createIdent(path: string, uid: number, reactor: Reactor): Ident {
  let quietUntilMs = 0;
  return {
    async hold(peer) {
      const socket = ask(path, uid, peer.pidfd);
      try {
        if (!(await answers(reactor, socket, defaults.identWaitMs))) throw silent(defaults.identWaitMs);
        quietUntilMs = 0;
        return open(receiveMessage(socket, 0), peer);
      } finally {
        closeSync(socket);
      }
    },
    look(peer) {
      if (readBootMs() < quietUntilMs) throw unavailable("it did not answer a moment ago");
      const socket = ask(path, uid, peer.pidfd);
      try {
        if (!waitReadable(socket, defaults.identLookMs)) {
          quietUntilMs = readBootMs() + defaults.identQuietMs;
          throw silent(defaults.identLookMs);
        }
        return open(receiveMessage(socket, 0), peer);
      } finally {
        closeSync(socket);
      }
    },
  };
}

/** Gives back what was opened, where it is not wanted after all. */
export function closeOpened({ image, maps, execWatch }: Opened): void {
  closeAll([image, maps, ...(execWatch === undefined ? [] : [execWatch])]);
}

/** The socket on which the answer will come. */
function ask(path: string, uid: number, pidfd: number): number {
  const libc = loadLibc();
  const address = unixAddress(path);
  const socket = libc.socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) throw unavailable(describeErrno("socket"));
  try {
    if (libc.connect(socket, address, address.length) < 0) throw unavailable(`${path}: ${describeErrno("connect")}`);
    const server = readCredentials(socket);
    if (server.uid !== uid) {
      throw unavailable(`a process of user ${server.uid} listens at ${path}, and gw-ident is user ${uid}`);
    }
    if (!sendMessage(socket, { bytes: Buffer.from(QUESTION, "latin1"), descriptors: [pidfd] })) {
      throw unavailable(describeErrno("sendmsg"));
    }
    return socket;
  } catch (error) {
    closeSync(socket);
    throw error;
  }
}

/** False when nothing came in time. */
function answers(reactor: Reactor, socket: number, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (answered: boolean): void => {
      clearTimeout(timer);
      watch.stop();
      resolve(answered);
    };
    const watch = reactor.watch(socket, { events: EPOLLIN, holds: false }, () => finish(true));
    const timer = setTimeout(() => finish(false), waitMs);
  });
}

function open(message: Message | undefined, peer: Peer): Opened {
  if (message === undefined) throw unavailable("it ended the connection without a word");
  const { bytes, descriptors } = message;
  const answer = parseAnswer(bytes);
  const [image, maps, execWatch, ...others] = descriptors;
  const whole = answer?.kind === "held" && answer.pid === peer.pid && others.length === 0;
  if (whole && image !== undefined && maps !== undefined && answer.watched === (execWatch !== undefined)) {
    const { pid, path, landmarks, namespaces } = answer;
    return { pid, path, landmarks, namespaces, image, maps, execWatch };
  }
  closeAll(descriptors);
  if (answer?.kind !== "refused") throw unavailable("its answer is not one that gw-ident gives");
  throw answer.code.startsWith("caller_") && answer.code in codes
    ? new Denied(answer.code as Code, answer.message)
    : unavailable(answer.message);
}

function silent(waitMs: number): Denied {
  return unavailable(`it did not answer within ${waitMs} ms`);
}

function unavailable(why: string): Denied {
  return new Denied(
    "ident_unavailable",
    `callers of other users cannot be looked at: gw-ident is not to be had (${why}). Start it: systemctl restart gw-ident`,
  );
}

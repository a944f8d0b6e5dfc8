import { closeSync, fstatSync, readFileSync, statfsSync } from "node:fs";
import { Denied } from "../../../kernel/failure.ts";
import { descriptorsExhausted, exhausted } from "../descriptors.ts";
import { errnos, lastErrno, loadLibc, nameErrno, uninterrupted } from "./libc.ts";

/** Who connected, as the kernel noted it at connect time. `pidfd` belongs to the receiver of this object. */
export interface Peer {
  readonly pid: number;
  readonly uid: number;
  readonly pidfd: number;
  /** Unique for the life of the machine where pidfds are files of their own (Linux 6.9); null before. */
  readonly pidfdInode: string | null;
  /** False when the pidfd was made from a bare pid: then nothing outlives the connection. */
  readonly durable: boolean;
}

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SO_PEERPIDFD = 77;
const PIDFS_MAGIC = 0x50494446;
const POLLIN = 1;

export function readPeer(socket: number): Peer {
  const { pid, uid } = readCredentials(socket);
  // The kernel says 0 for a process outside our pid namespace: there is nobody we could look at.
  if (pid <= 0) throw new Denied("caller_unknown", "the peer is outside this machine's view of processes (pid 0)");
  const { pidfd, durable } = openPidfd(socket, pid);
  try {
    if (!isAlive(pidfd)) throw new Denied("caller_gone", `process ${pid} had exited before it could be looked at`);
    if (pidOf(pidfd) !== pid) throw new Denied("caller_unknown", "the kernel's two answers about the peer differ");
    return { pid, uid, pidfd, pidfdInode: inodeOf(pidfd), durable };
  } catch (error) {
    closeSync(pidfd);
    throw error;
  }
}

/** What the kernel noted at connect. The pid is 0 for a process that this pid namespace does not contain. */
export function readCredentials(socket: number): { readonly pid: number; readonly uid: number } {
  const credentials = Buffer.alloc(12);
  const length = Buffer.alloc(4);
  length.writeInt32LE(credentials.length);
  if (loadLibc().getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials, length) < 0) {
    throw new Denied("caller_unknown", `the socket has no peer credentials (${nameErrno(lastErrno())})`);
  }
  return { pid: credentials.readInt32LE(0), uid: credentials.readUInt32LE(4) };
}

/** True until every thread of the process has exited. */
export function isAlive(pidfd: number): boolean {
  const entry = Buffer.alloc(8);
  entry.writeInt32LE(pidfd, 0);
  entry.writeInt16LE(POLLIN, 4);
  return uninterrupted(() => loadLibc().poll(entry, 1, 0)) === 0;
}

export function inodeOf(pidfd: number): string | null {
  return statfsSync(`/proc/self/fd/${pidfd}`).type === PIDFS_MAGIC
    ? fstatSync(pidfd, { bigint: true }).ino.toString()
    : null;
}

function openPidfd(socket: number, pid: number): { readonly pidfd: number; readonly durable: boolean } {
  const libc = loadLibc();
  const answer = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  length.writeInt32LE(answer.length);
  if (libc.getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, answer, length) === 0) {
    return { pidfd: answer.readInt32LE(0), durable: true };
  }
  const errno = lastErrno();
  if (errno !== errnos["ENOPROTOOPT"]) throw notHeld(pid, errno);
  const pidfd = libc.pidfdOpen(pid, 0);
  if (pidfd < 0) throw notHeld(pid, lastErrno());
  return { pidfd, durable: false };
}

function notHeld(pid: number, errno: number): Denied {
  const word = nameErrno(errno);
  if (word === "EMFILE" || word === "ENFILE") return exhausted(word);
  return new Denied("caller_gone", `process ${pid} cannot be held (${word})`);
}

export function pidOf(pidfd: number): number | undefined {
  const found = /^Pid:\t(-?\d+)$/m.exec(readInfo(pidfd));
  return found?.[1] === undefined ? undefined : Number(found[1]);
}

function readInfo(descriptor: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8");
  } catch (error) {
    throw descriptorsExhausted(error) ?? error;
  }
}

import { closeSync, readFileSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { loadLibc } from "../../platform/linux/libc.ts";
import { inodeOf, openProcess, parseStat, parseTracer, pathIn, readProc } from "../../platform/linux/proc.ts";

/**
 * Who is at the other end of the agent socket. Only the client that our own helper started may ask for a signature:
 * its parent is the helper, its image is the OpenSSH client, nobody traces it, and it is still the process that connected.
 */
export interface PeerTrace {
  readonly pid: number;
  /** Looks again. Null when nothing has changed, else what did. */
  recheck(): string | null;
  close(): void;
}

export interface ExpectedPeer {
  readonly helperPid: number;
  helperLives(): boolean;
  /** `device:inode` of the client's program file, see `pinProgram`. */
  readonly program: string;
}

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SO_PEERPIDFD = 77;
const PROC_BYTES_MAX = 16_384;

/** A text says why the peer is not the one. */
export function tracePeer(socket: Socket, expected: ExpectedPeer): PeerTrace | string {
  const fd = descriptorOf(socket);
  const pid = fd === undefined ? undefined : peerPid(fd);
  if (fd === undefined || pid === undefined || pid <= 0) return "the kernel does not name the peer";
  const pidfd = peerPidfd(fd, pid);
  if (pidfd === undefined) return "the peer is gone";
  let directory: number;
  try {
    directory = openProcess(pid);
  } catch {
    closeSync(pidfd);
    return "the peer is gone";
  }
  const close = () => {
    closeSync(pidfd);
    closeSync(directory);
  };
  const image = imageOf(directory);
  const look = (): string | null => {
    if (!expected.helperLives()) return "the helper is gone";
    const now = imageOf(directory);
    if (image === undefined || now === undefined) return "the peer cannot be inspected";
    if (now.parent !== expected.helperPid) return "the peer was not started by the helper";
    if (now.program !== expected.program) return "the peer is not the OpenSSH client";
    if (now.tracer !== 0) return "the peer is traced";
    if (now.identity !== image.identity) return "the peer has changed its image";
    // Last: while this descriptor names the pid, everything read above was of the process that connected.
    return pidOf(pidfd) === pid ? null : "the peer is gone";
  };
  const fault = look();
  if (fault !== null) {
    close();
    return fault;
  }
  return { pid, recheck: look, close };
}

/** Names a program file that nobody but root or ourselves can change; a text says why it is not one. */
export function pinProgram(path: string): { readonly inode: string } | string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (found === undefined || !found.isFile()) return `${path} is not there`;
  const ours = BigInt(process.geteuid?.() ?? 0);
  if (found.uid !== 0n && found.uid !== ours) return `${path} belongs to another user`;
  if ((found.mode & 0o022n) !== 0n) return `${path} can be changed by others`;
  return { inode: `${found.dev}:${found.ino}` };
}

interface Image {
  readonly parent: number;
  readonly program: string;
  readonly tracer: number;
  readonly identity: string;
}

function imageOf(directory: number): Image | undefined {
  const stat = parseStat(readProc(directory, "stat", PROC_BYTES_MAX)?.toString("latin1") ?? "");
  const tracer = parseTracer(readProc(directory, "status", PROC_BYTES_MAX)?.toString("latin1") ?? "");
  const program = programOf(directory);
  if (stat === undefined || tracer === undefined || program === null) return undefined;
  return { parent: stat.parent, program, tracer, identity: `${stat.startTime} ${stat.layout}` };
}

function programOf(directory: number): string | null {
  try {
    return inodeOf(pathIn(directory, "exe"));
  } catch {
    return null;
  }
}

function peerPid(fd: number): number | undefined {
  const credentials = Buffer.alloc(12);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(credentials.length);
  if (loadLibc().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length) !== 0) return undefined;
  return credentials.readUInt32LE(4) === process.geteuid?.() ? credentials.readInt32LE(0) : undefined;
}

function peerPidfd(fd: number, pid: number): number | undefined {
  const value = Buffer.alloc(4);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(value.length);
  const libc = loadLibc();
  if (libc.getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, value, length) === 0) return value.readInt32LE(0);
  // Before Linux 6.5: open by number. The parent and image checks that follow do not take a reused one.
  const opened = libc.pidfdOpen(pid, 0);
  return opened < 0 ? undefined : opened;
}

/** The pid that a pidfd names; -1 once that process has ended. */
function pidOf(pidfd: number): number {
  const found = /^Pid:\t(-?\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${pidfd}`, "latin1"));
  return Number(found?.[1] ?? -1);
}

// Node has no public name for the descriptor of a socket.
function descriptorOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined;
}

import { closeSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { isAlive, type Peer, readPeer } from "../../platform/linux/peer.ts";
import { inodeOf, openProcess, parseStat, parseTracer, pathIn, readProc } from "../../platform/linux/proc.ts";

/**
 * Who is at the other end of the agent socket. Only the client that our own helper started may ask for a signature:
 * its parent is the helper, its image is the OpenSSH client, nobody traces it, and it is still the process that connected.
 */
export interface PeerTrace {
  readonly pid: number;
  /** Looks again. Null when nothing has changed. */
  recheck(): "peer_changed" | "peer_gone" | null;
  close(): void;
}

export interface ExpectedPeer {
  readonly helperPid: number;
  helperLives(): boolean;
  /** The client's program file, see `pinProgram`. */
  readonly program: string;
}

const PROC_BYTES_MAX = 16_384;
const HELPER_GONE = "the helper is gone";
const PEER_GONE = "the peer is gone";

/** A text says why the peer is not the one. */
export function tracePeer(socket: Socket, expected: ExpectedPeer): PeerTrace | string {
  const fd = descriptorOf(socket);
  if (fd === undefined) return "the connection is gone";
  let peer: Peer;
  try {
    peer = readPeer(fd);
  } catch (error) {
    return error instanceof Error ? error.message : "the kernel does not name the peer";
  }
  let directory: number;
  try {
    directory = openProcess(peer.pid);
  } catch {
    closeSync(peer.pidfd);
    return PEER_GONE;
  }
  const first = imageOf(directory);
  const findFault = (): string | null => {
    if (!expected.helperLives()) return HELPER_GONE;
    const now = imageOf(directory);
    if (peer.uid !== process.geteuid?.()) return "the peer is another user's";
    if (first === undefined || now === undefined)
      return isAlive(peer.pidfd) ? "the peer cannot be inspected" : PEER_GONE;
    // Whose parent is another one now has lost it, before we were told.
    if (now.parent !== expected.helperPid)
      return first.parent === expected.helperPid ? HELPER_GONE : "the peer was not started by the helper";
    if (now.program !== expected.program) return "the peer is not the OpenSSH client";
    if (now.tracer !== 0) return "the peer is traced";
    if (now.identity !== first.identity) return "the peer has changed its image";
    // Last: while the process that connected lives, its number is its own, so all of the above was about it.
    return isAlive(peer.pidfd) ? null : PEER_GONE;
  };
  const recheck = () => {
    const fault = findFault();
    if (fault === null) return null;
    return fault === HELPER_GONE || fault === PEER_GONE ? "peer_gone" : "peer_changed";
  };
  const close = (): void => {
    closeSync(peer.pidfd);
    closeSync(directory);
  };
  const fault = findFault();
  if (fault === null) return { pid: peer.pid, recheck, close };
  close();
  return fault;
}

/** Names a program file that nobody but root or ourselves can change; a text says why it is not one. */
export function pinProgram(path: string): { readonly inode: string } | string {
  const found = statSync(path, { throwIfNoEntry: false });
  const inode = found?.isFile() === true ? inodeOf(path) : null;
  if (found === undefined || inode === null) return `${path} is not there`;
  if (found.uid !== 0 && found.uid !== process.geteuid?.()) return `${path} belongs to another user`;
  if ((found.mode & 0o022) !== 0) return `${path} can be changed by others`;
  return { inode };
}

interface Image {
  readonly parent: number;
  readonly program: string;
  readonly tracer: number;
  readonly identity: string;
}

function imageOf(directory: number): Image | undefined {
  const line = readProc(directory, "stat", PROC_BYTES_MAX);
  const status = readProc(directory, "status", PROC_BYTES_MAX);
  const stat = line === undefined ? undefined : parseStat(line);
  const tracer = status === undefined ? undefined : parseTracer(status);
  const program = inodeOf(pathIn(directory, "exe"));
  if (stat === undefined || tracer === undefined || program === null) return undefined;
  return { parent: stat.parent, program, tracer, identity: `${stat.startTime} ${stat.layout}` };
}

// Node has no public name for the descriptor of a socket.
function descriptorOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined;
}

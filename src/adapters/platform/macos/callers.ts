import { closeSync } from "node:fs";
import koffi from "koffi";
import { validityOf } from "../../../conventions/caller/authority.ts";
import type { CallerEvidence } from "../../../conventions/caller/evidence.ts";
import type { CallerCheck, CallerEnd, CallerPlatform, LiveCaller } from "../../../conventions/caller/port.ts";
import { requireSame } from "../../../conventions/caller/validity.ts";
import { Denied, Fault } from "../../../kernel/failure.ts";
import { readCode } from "./code.ts";
import { loadLibraries } from "./libraries.ts";
import { readPath, readProcess, walkParents } from "./process.ts";

/**
 * Callers on macOS, by the audit token of the connection. The token's pid version changes with every exec, so it names
 * one image of one process. Written from Apple's documentation and not yet run on hardware: see docs/callers.md.
 */
export interface Peer {
  readonly token: Buffer;
  readonly pid: number;
  readonly uid: number;
  readonly version: number;
}

const SOL_LOCAL = 0;
const LOCAL_PEERTOKEN = 0x006;
const TOKEN_BYTES = 32;
const KEVENT_BYTES = 32;
const EVFILT_PROC = -5;
const EV_ADD = 0x1;
const EV_CLEAR = 0x20;
const NOTE_EXIT = 0x80000000;
const NOTE_EXEC = 0x20000000;

export function createMacosCallers(): CallerPlatform {
  const open = new Set<() => void>();
  let closed = false;
  return {
    async identify(fd) {
      if (closed) throw new Denied("caller_unknown", "the gateway is shutting down");
      const peer = readPeer(fd);
      const watch = watchProcess(peer);
      try {
        // The token fails here if the process has exited or called exec since it connected.
        const evidence = readEvidence(peer);
        requireSame(watch.check());
        open.add(watch.close);
        return lend(peer, evidence, watch, () => open.delete(watch.close));
      } catch (error) {
        watch.close();
        throw error;
      }
    },
    close() {
      closed = true;
      for (const close of open) close();
      open.clear();
    },
  };
}

function readPeer(fd: number): Peer {
  const token = Buffer.alloc(TOKEN_BYTES);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(token.length);
  if (loadLibraries().getsockopt(fd, SOL_LOCAL, LOCAL_PEERTOKEN, token, length) !== 0) {
    throw new Denied("caller_unknown", "the connection has no audit token");
  }
  return parseToken(token);
}

/** audit_token_t: audit user, effective user and group, real user and group, pid, session, pid version. */
export function parseToken(token: Buffer): Peer {
  const pid = token.readUInt32LE(20);
  if (token.length !== TOKEN_BYTES || pid === 0) throw new Denied("caller_unknown", "the audit token names no process");
  return { token, pid, uid: token.readUInt32LE(4), version: token.readUInt32LE(28) };
}

function readEvidence(peer: Peer): CallerEvidence {
  const code = readCode(peer.token);
  return {
    process: { pid: peer.pid, startTime: String(peer.version), uid: peer.uid, pidfdInode: null },
    pathObserved: readPath(peer.pid) ?? "",
    signingIdentifier: code.signingIdentifier,
    designatedRequirement: code.designatedRequirement,
    cdhash: code.cdhash,
    validity: validityOf(code.authority),
    authority: code.authority,
    interpreter: null,
    unownedMappings: [],
    ancestors: walkParents(peer.pid),
    namespaces: "own",
    binding: "process",
  };
}

interface ProcessWatch {
  check(): CallerCheck;
  onEnd(listener: (end: CallerEnd) => void): void;
  close(): void;
}

/** A kqueue of its own for each caller: it says exit and exec, and the loop polls it. */
function watchProcess(peer: Peer): ProcessWatch {
  const lib = loadLibraries();
  const queue = lib.kqueue();
  if (queue < 0) throw new Fault("kqueue failed");
  const change = Buffer.alloc(KEVENT_BYTES);
  change.writeBigUInt64LE(BigInt(peer.pid), 0);
  change.writeInt16LE(EVFILT_PROC, 8);
  change.writeUInt16LE(EV_ADD | EV_CLEAR, 10);
  change.writeUInt32LE((NOTE_EXIT | NOTE_EXEC) >>> 0, 12);
  const event = Buffer.alloc(KEVENT_BYTES);
  const atOnce = Buffer.alloc(16);
  if (lib.kevent(queue, change, 1, event, 0, atOnce) < 0) {
    closeSync(queue);
    throw new Denied("caller_gone", `process ${peer.pid} had exited before it could be looked at`);
  }
  const listeners = new Set<(end: CallerEnd) => void>();
  let end: CallerEnd | undefined;
  let closed = false;
  const poll = koffi.node.poll(queue, { readable: true }, () => setImmediate(check));
  poll.unref();
  return {
    check,
    onEnd(listener) {
      if (end !== undefined) listener(end);
      else listeners.add(listener);
    },
    close() {
      if (closed) return;
      closed = true;
      poll.close();
      closeSync(queue);
      finish({ kind: "gone" });
    },
  };

  function check(): CallerCheck {
    if (end !== undefined) return end;
    if (lib.kevent(queue, event, 0, event, 1, atOnce) > 0) {
      const exited = (event.readUInt32LE(12) & NOTE_EXIT) !== 0;
      return finish(exited ? { kind: "gone" } : { kind: "replaced", what: "exec" });
    }
    const found = readProcess(peer.pid);
    if (found === undefined) return finish({ kind: "gone" });
    return found.traced ? { kind: "traced", tracer: 0 } : { kind: "same" };
  }

  function finish(found: CallerEnd): CallerEnd {
    end ??= found;
    for (const listener of listeners) listener(end);
    listeners.clear();
    return end;
  }
}

function lend(peer: Peer, evidence: CallerEvidence, watch: ProcessWatch, done: () => void): LiveCaller {
  let holders = 0;
  return hold();

  function hold(): LiveCaller {
    holders++;
    let returned = false;
    return {
      evidence,
      uid: peer.uid,
      pid: peer.pid,
      key: `${peer.pid}.${peer.version}`,
      binding: evidence.binding,
      check: () => (returned ? { kind: "gone" } : watch.check()),
      onExit(listener) {
        if (!returned) watch.onEnd((end) => (returned ? undefined : listener(end)));
      },
      ancestry: () => (returned ? [] : walkParents(peer.pid)),
      retain: hold,
      close() {
        if (returned) return;
        returned = true;
        if (--holders > 0) return;
        done();
        watch.close();
      },
    };
  }
}

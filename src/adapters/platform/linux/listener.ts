import { chmodSync, chownSync, closeSync, rmSync } from "node:fs";
import type { CallerEnd, CallerPlatform, LiveCaller } from "../../../conventions/caller/port.ts";
import { denialOf } from "../../../conventions/caller/validity.ts";
import { Denied, Fault } from "../../../kernel/failure.ts";
import { unixAddress } from "./address.ts";
import { VerifiedConnection } from "./connection.ts";
import { createCredentialReader } from "./credential-reader.ts";
import { errnos, lastErrno, loadLibc, nameErrno, uninterrupted } from "./libc.ts";
import { readCredentials } from "./peer.ts";
import { createReactor, EPOLLIN, type Reactor } from "./reactor.ts";

export interface VerifiedListenerOptions {
  readonly path: string;
  /** Of the socket file, such as 0o600. It is set before anybody can connect. */
  readonly mode: number;
  /** Who may open it beside its owner, where the mode lets a group in. */
  readonly group?: number | null;
  readonly callers: CallerPlatform;
  readonly reactor?: Reactor;
  /** Asked before anything is opened for a connection of this user. Null lets it in; bytes are sent to it before it is closed. */
  turnAway?(uid: number): Buffer | null;
  /** Identification has begun when this is called; no byte of the connection has been read yet. */
  accept(connection: VerifiedConnection, caller: Promise<LiveCaller>, uid: number): void;
}

export interface VerifiedListener {
  readonly connections: ReadonlySet<VerifiedConnection>;
  /** Stops accepting and removes the socket file. Open connections go on until they are closed. */
  close(): void;
}

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_PASSCRED = 16;
const BACKLOG = 511;
/** So many at once, then a pause: whoever connects without end does not take the time of everybody else. The rest wait in the queue. */
const BATCH = 32;
const BATCH_PAUSE_MS = 50;
const EXHAUSTED_PAUSE_MS = 100;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;

/** Listens on a local socket and asks the kernel for the writer of every byte. */
export function listenVerified(options: VerifiedListenerOptions): VerifiedListener {
  const libc = loadLibc();
  const reactor = options.reactor ?? createReactor();
  const read = createCredentialReader();
  const connections = new Set<VerifiedConnection>();
  const denials = new WeakMap<CallerEnd, Denied>();
  const one = Buffer.from([1, 0, 0, 0]);
  const listening = openListener(options);
  let paused: NodeJS.Timeout | undefined;
  const watch = reactor.watch(listening, { events: EPOLLIN, holds: true }, acceptSome);
  let closed = false;

  return {
    connections,
    close() {
      if (closed) return;
      closed = true;
      clearTimeout(paused);
      watch.stop();
      closeSync(listening);
      rmSync(options.path, { force: true });
      releaseReactor();
    },
  };

  function releaseReactor(): void {
    if (closed && connections.size === 0 && options.reactor === undefined) reactor.close();
  }

  function acceptSome(): void {
    for (let count = 0; count < BATCH && !closed; count++) {
      const fd = uninterrupted(() => libc.accept4(listening, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd < 0) {
        const errno = lastErrno();
        // Out of descriptors: what waits stays in the queue until some of ours are closed.
        if (errno === errnos["EMFILE"] || errno === errnos["ENFILE"]) pause(EXHAUSTED_PAUSE_MS);
        return;
      }
      // Newer kernels have it from the listening socket; on older ones this closes the window as early as can be.
      libc.setsockopt(fd, SOL_SOCKET, SO_PASSCRED, one, one.length);
      admit(fd);
    }
    if (!closed) pause(BATCH_PAUSE_MS);
  }

  function admit(fd: number): void {
    let connection: VerifiedConnection;
    let uid: number;
    try {
      const credentials = readCredentials(fd);
      ({ uid } = credentials);
      const refusal = options.turnAway?.(uid) ?? null;
      if (refusal !== null) {
        libc.send(fd, refusal, refusal.length, MSG_DONTWAIT | MSG_NOSIGNAL);
        closeSync(fd);
        return;
      }
      connection = new VerifiedConnection(fd, credentials.pid, reactor, read);
    } catch (error) {
      closeSync(fd);
      if (error instanceof Denied) return;
      throw error;
    }
    connections.add(connection);
    // A peer's misdeed ends its connection and nothing else; `errored` keeps the reason for whoever records it.
    connection.on("error", () => undefined);
    connection.once("close", () => {
      connections.delete(connection);
      releaseReactor();
    });
    const caller = options.callers.identify(fd);
    caller.then(
      // Nobody speaks on it any more but those whom the descriptor was left to, perhaps under the same pid.
      (found) => found.onExit((end) => connection.destroy(denialFor(end))),
      // A refusal is the acceptor's to report; one that nobody looks at must not bring the gateway down.
      () => undefined,
    );
    options.accept(connection, caller, uid);
  }

  /** One for all connections of a caller that ended: whoever reports it does so once. */
  function denialFor(end: CallerEnd): Denied {
    const denied = denials.get(end) ?? denialOf(end);
    denials.set(end, denied);
    return denied;
  }

  function pause(ms: number): void {
    clearTimeout(paused);
    watch.change({ events: 0, holds: true });
    paused = setTimeout(() => watch.change({ events: EPOLLIN, holds: true }), ms);
  }

  function openListener({ path, mode, group = null }: VerifiedListenerOptions): number {
    const address = unixAddress(path);
    const fd = libc.socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) throw failed("socket", path);
    try {
      if (libc.setsockopt(fd, SOL_SOCKET, SO_PASSCRED, one, one.length) < 0) throw failed("SO_PASSCRED", path);
      if (libc.bind(fd, address, address.length) < 0) throw failed("bind", path);
      if (group !== null) chownSync(path, -1, group);
      chmodSync(path, mode);
      if (libc.listen(fd, BACKLOG) < 0) throw failed("listen", path);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
}

function failed(what: string, path: string): Fault {
  return new Fault(`cannot listen on ${path}: ${what} failed with ${nameErrno(lastErrno())}`);
}

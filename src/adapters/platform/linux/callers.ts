import { closeSync } from "node:fs";
import type { CallerEvidence } from "../../../conventions/caller/evidence.ts";
import type { CallerCheck, CallerEnd, CallerPlatform, LiveCaller } from "../../../conventions/caller/port.ts";
import { requireSame } from "../../../conventions/caller/validity.ts";
import { Denied } from "../../../kernel/failure.ts";
import { walkAncestry } from "./ancestry.ts";
import { type Hold, holdProcess } from "./hold.ts";
import { closeOpened, createIdent } from "./ident/ask.ts";
import { type Peer, readPeer } from "./peer.ts";
import { createReactor, EPOLLIN, type Reactor, type Watch } from "./reactor.ts";

/** Makes the evidence of a held process: the slow part, done once for all connections of the process. */
export type EvidenceReader = (hold: Hold) => Promise<CallerEvidence>;

export interface LinuxCallerOptions {
  readonly readEvidence: EvidenceReader;
  readonly reactor?: Reactor;
  /** False to rest on /proc alone, as kernels do that keep perf events from us. */
  readonly askKernelForExec?: boolean;
  /** Where gw-ident looks at callers of other users, and as whom; without it they are refused. */
  readonly ident?: { readonly path: string; readonly uid: number } | null;
}

interface Entry {
  readonly hold: Hold;
  readonly key: string;
  readonly evidence: Promise<CallerEvidence>;
  readonly listeners: Set<(end: CallerEnd) => void>;
  readonly watches: Watch[];
  holders: number;
  end: CallerEnd | undefined;
  /** The turn of the loop in which it was last found to be the same. */
  sameIn: number;
}

const SAME: CallerCheck = { kind: "same" };

/** Execs may follow one another while we look; after this many the caller has to settle down and connect again. */
const LOOKS = 3;
/** Where the kernel does not report exec, the callers that are held (and no other process) are looked at this often. */
const SWEEP_MS = 500;

/** Callers of a Linux machine. Connections of one live image share one entry, dropped when the last of them closes. */
export function createLinuxCallers(options: LinuxCallerOptions): CallerPlatform {
  const reactor = options.reactor ?? createReactor();
  const ident = options.ident == null ? undefined : createIdent(options.ident.path, options.ident.uid, reactor);
  const entries = new Map<string, Entry>();
  const all = new Set<Entry>();
  let serial = 0;
  let closed = false;
  let sweep: NodeJS.Timeout | undefined;
  const turn = countTurns();

  return {
    async identify(fd) {
      if (closed) throw new Denied("caller_unknown", "the gateway is shutting down");
      for (let look = 1; ; look++) {
        const entry = await findOrMake(readPeer(fd));
        try {
          const evidence = await entry.evidence;
          requireSame(entry.end ?? entry.hold.examine());
          return lend(entry, evidence);
        } catch (error) {
          release(entry);
          if (look < LOOKS && error instanceof Denied && error.code === "caller_replaced") continue;
          throw error;
        }
      }
    },
    close() {
      if (closed) return;
      closed = true;
      clearTimeout(sweep);
      for (const entry of all) finish(entry, { kind: "gone" });
      if (options.reactor === undefined) reactor.close();
    },
  };

  /** The entry of this image, held once more for whoever asked. Takes over the peer's pidfd, also when it throws. */
  async function findOrMake(peer: Peer): Promise<Entry> {
    const known = findKnown(peer);
    if (known !== undefined) return known;
    if (ident === undefined || peer.uid === process.geteuid?.()) {
      return keep(make(holdProcess(peer, { askKernel: options.askKernelForExec ?? true })));
    }
    const opened = await ident.hold(peer).catch((error: unknown) => {
      closeSync(peer.pidfd);
      throw error;
    });
    // Another connection of this process may have been answered first: they share what it made.
    const first = closed ? refuse() : findFirst();
    if (first !== undefined) {
      closeOpened(opened);
      return first;
    }
    return keep(make(holdProcess(peer, { foreign: { opened, ident } })));

    function findFirst(): Entry | undefined {
      try {
        return findKnown(peer);
      } catch (error) {
        closeOpened(opened);
        throw error;
      }
    }

    function refuse(): never {
      closeOpened(opened);
      closeSync(peer.pidfd);
      throw new Denied("caller_unknown", "the gateway is shutting down");
    }
  }

  function findKnown(peer: Peer): Entry | undefined {
    const known = entries.get(nameOf(peer));
    if (known === undefined || known.hold.namespaces !== "own" || known.end !== undefined) return undefined;
    const check = examine(known);
    if (check.kind !== "same" && check.kind !== "traced") {
      finish(known, check);
      return undefined;
    }
    closeSync(peer.pidfd);
    return keep(known);

    function examine({ hold }: Entry): CallerCheck {
      try {
        return hold.examine();
      } catch (error) {
        closeSync(peer.pidfd);
        throw error;
      }
    }
  }

  function keep(entry: Entry): Entry {
    entry.holders++;
    return entry;
  }

  function make(hold: Hold): Entry {
    const { peer } = hold;
    // The serial keeps a name from meaning two images, even where exec changes nothing that could be seen.
    const key = `${peer.pid}.${hold.startTime}.${peer.pidfdInode ?? "-"}.${++serial}`;
    const entry: Entry = {
      hold,
      key,
      evidence: options.readEvidence(hold),
      listeners: new Set(),
      watches: [],
      holders: 0,
      end: undefined,
      sameIn: 0,
    };
    // Whoever awaits it handles the failure; an entry nobody waits for any more must not bring the process down.
    entry.evidence.catch(() => undefined);
    const watch = (fd: number): void => {
      entry.watches.push(reactor.watch(fd, { events: EPOLLIN, holds: false }, () => look(entry)));
    };
    watch(peer.pidfd);
    if (hold.execWatch !== undefined) watch(hold.execWatch.fd);
    all.add(entry);
    if (hold.execWatch === undefined) sweep ??= startSweep();
    if (peer.durable && hold.namespaces === "own") entries.set(nameOf(peer), entry);
    return entry;
  }

  /** The kernel says that something ended; the check says what. */
  function look(entry: Entry): void {
    const check = examineNow(entry.hold);
    if (check?.kind === "gone" || check?.kind === "replaced") finish(entry, check);
  }

  /** One round after the other, however long one takes. What gw-ident cannot tell now it is asked again in the next. */
  async function sweepUnwatched(): Promise<void> {
    const unwatched = [...all].filter(({ hold, end }) => hold.execWatch === undefined && end === undefined);
    for (const entry of unwatched) {
      // Let go of meanwhile: its descriptors are closed, and their numbers may be others' by now.
      if (!all.has(entry)) continue;
      const check = await entry.hold.sweep().catch(unlessDenied);
      if (!all.has(entry)) continue;
      if (check?.kind === "gone" || check?.kind === "replaced") finish(entry, check);
    }
    sweep = unwatched.length === 0 || closed ? undefined : startSweep();
  }

  function startSweep(): NodeJS.Timeout {
    return setTimeout(() => void sweepUnwatched(), SWEEP_MS).unref();
  }

  function finish(entry: Entry, end: CallerEnd): void {
    if (entry.end !== undefined) return;
    entry.end = end;
    for (const watch of entry.watches.splice(0)) watch.stop();
    forget(entry);
    const listeners = [...entry.listeners];
    entry.listeners.clear();
    for (const listener of listeners) listener(end);
    if (entry.holders === 0) dispose(entry);
  }

  function release(entry: Entry): void {
    entry.holders--;
    if (entry.holders > 0) return;
    for (const watch of entry.watches.splice(0)) watch.stop();
    forget(entry);
    dispose(entry);
  }

  function forget(entry: Entry): void {
    if (entries.get(nameOf(entry.hold.peer)) === entry) entries.delete(nameOf(entry.hold.peer));
  }

  function dispose(entry: Entry): void {
    if (!all.delete(entry)) return;
    // The evidence may still be reading the image; its descriptors stay open until it has finished.
    const close = (): void => entry.hold.close();
    entry.evidence.then(close, close);
  }

  function lend(entry: Entry, evidence: CallerEvidence): LiveCaller {
    let returned = false;
    const own = new Set<(end: CallerEnd) => void>();
    const check = (): CallerCheck => {
      if (returned) return { kind: "gone" };
      if (entry.end !== undefined) return entry.end;
      // All who ask within one turn of the loop share one look; nobody who waited for anything does.
      if (entry.sameIn === turn()) return SAME;
      const found = entry.hold.check();
      if (found.kind === "gone" || found.kind === "replaced") finish(entry, found);
      else if (found.kind === "same") entry.sameIn = turn();
      return found;
    };
    return {
      evidence,
      uid: entry.hold.peer.uid,
      pid: entry.hold.peer.pid,
      key: entry.key,
      binding: evidence.binding,
      check,
      onExit(listener) {
        if (returned) return;
        if (entry.end !== undefined) {
          listener(entry.end);
          return;
        }
        own.add(listener);
        entry.listeners.add(listener);
      },
      ancestry: () => (returned ? [] : walkAncestry(entry.hold.peer.pid)),
      retain() {
        if (returned) throw new Denied("caller_gone", "this hold on the caller was already given back");
        entry.holders++;
        return lend(entry, evidence);
      },
      close() {
        if (returned) return;
        returned = true;
        const waiting = [...own].filter((listener) => entry.listeners.delete(listener));
        release(entry);
        // Where the connection is all that is known of a caller, its end is the caller's.
        if (evidence.binding === "connection") for (const listener of waiting) listener({ kind: "gone" });
      },
    };
  }
}

/** Numbers the turns of the event loop, at the cost of one callback for each in which somebody asks. */
function countTurns(): () => number {
  let turn = 1;
  let asked = false;
  const next = (): void => {
    turn++;
    asked = false;
  };
  return () => {
    if (!asked) setImmediate(next);
    asked = true;
    return turn;
  };
}

/** Undefined where it cannot be told now: the next look tells. */
function examineNow(hold: Hold): CallerCheck | undefined {
  try {
    return hold.examine();
  } catch (error) {
    return unlessDenied(error);
  }
}

function unlessDenied(error: unknown): undefined {
  if (!(error instanceof Denied)) throw error;
}

function nameOf(peer: Peer): string {
  return `${peer.pid}:${peer.pidfdInode ?? "-"}`;
}

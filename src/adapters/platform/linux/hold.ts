import { closeSync, constants, openSync } from "node:fs";
import type { CallerCheck } from "../../../conventions/caller/port.ts";
import { Denied } from "../../../kernel/failure.ts";
import { descriptorsExhausted } from "../descriptors.ts";
import { adoptExecWatch, type ExecWatch, watchExec } from "./exec-watch.ts";
import { closeOpened, type Ident, type Opened } from "./ident/ask.ts";
import { loadLibc, uninterrupted } from "./libc.ts";
import { isAlive, type Peer } from "./peer.ts";
import {
  inodeIn,
  inodeOf,
  inspectProc,
  landmarksOf,
  type Mapping,
  openProcess,
  parseMaps,
  parseStat,
  parseTracer,
  pathIn,
  readLink,
  readWhole,
} from "./proc.ts";

/**
 * One process image, held by descriptors that cannot come to mean another: the pidfd, its directory in /proc, the
 * image file (`O_PATH`: what is read of it is read elsewhere) and the address space behind an open `maps`. `check` compares all of it with
 * a fresh look.
 */
export interface Hold {
  readonly peer: Peer;
  readonly directory: number;
  readonly image: number;
  /** The kernel's name of the image. */
  readonly path: string;
  /** The address space, open. */
  readonly maps: number;
  readonly landmarks: string;
  readonly startTime: string;
  readonly mappings: readonly Mapping[];
  readonly execWatch: ExecWatch | undefined;
  readonly namespaces: "own" | "other" | "unreadable";
  /** Short enough for every operation. */
  check(): CallerCheck;
  /** The same, and the whole address space as well where the kernel does not report exec. */
  examine(): CallerCheck;
  /** As `examine`, from time to time where the kernel does not report exec, without holding anybody up. */
  sweep(): Promise<CallerCheck>;
  close(): void;
}

const MAPS_LIMIT = 16 * 1_048_576;
/** Holds a file without opening it: no server of a file system is asked, now or when it is closed. */
const O_PATH = 0o10000000;
const POLLIN = 1;
const POLLFD_SIZE = 8;
const POLLFD_REVENTS_AT = 6;

export interface HoldOptions {
  /** False only to try what other kernels have to do. */
  readonly askKernel?: boolean;
  /** What gw-ident opened for us, since the process is another user's, and whom to ask again. Taken over. */
  readonly foreign?: { readonly opened: Opened; readonly ident: Ident };
}

/** Takes over the peer's pidfd and what gw-ident opened, also when it throws. */
export function holdProcess(peer: Peer, { askKernel = true, foreign }: HoldOptions = {}): Hold {
  const lent = foreign?.opened;
  const open: number[] = [peer.pidfd, ...(lent === undefined ? [] : [lent.image, lent.maps])];
  let execWatch: ExecWatch | undefined;
  const close = (): void => {
    execWatch?.close();
    for (const fd of open.splice(0)) closeSync(fd);
  };
  try {
    // Watching first: an exec during the rest of this function is then noticed by the first check.
    execWatch = lent === undefined ? (askKernel ? watchExec(peer.pid) : undefined) : adopt(lent.execWatch);
    const directory = openProcess(peer.pid);
    open.push(directory);
    const inside = (name: string, flags: number = constants.O_RDONLY): number => {
      const fd = openSync(pathIn(directory, name), flags);
      open.push(fd);
      return fd;
    };
    const image = lent?.image ?? inside("exe", O_PATH);
    const maps = lent?.maps ?? inside("maps");
    const stat = inside("stat");
    const status = inside("status");
    const first = parseStat(readSmall(stat));
    const mapsText = readWhole(maps, MAPS_LIMIT)?.toString("latin1");
    const imageInode = inodeOf(`/proc/self/fd/${image}`);
    // Alive now means that all of the above was opened on this process and not on a later one with its pid.
    if (!isAlive(peer.pidfd)) throw gone(peer);
    if (first === undefined || mapsText === undefined || mapsText === "" || imageInode === null) {
      throw unreadable(peer);
    }
    const mappings = parseMaps(mapsText);
    const landmarks = landmarksOf(mappings);
    if (lent !== undefined && lent.landmarks !== landmarks) throw unreadable(peer);
    const imageNow =
      foreign === undefined ? () => inodeIn(directory, "exe") : () => seen(foreign.ident.look(peer)).imageInode;
    const landmarksNow =
      foreign === undefined ? () => readLandmarks(directory) : () => seen(foreign.ident.look(peer)).landmarks;
    const check = createCheck({ peer, execWatch, maps, stat, status, first, imageInode, imageNow });
    return {
      peer,
      directory,
      image,
      path: lent?.path ?? readLink(directory, "exe") ?? "",
      maps,
      landmarks,
      startTime: first.startTime,
      mappings,
      execWatch,
      namespaces: lent?.namespaces ?? compareNamespaces(directory),
      check,
      examine() {
        const found = check();
        // A helper made with CLONE_VM keeps the old address space alive: a fresh look at the present one tells.
        const moved = execWatch === undefined && found.kind === "same" && landmarksNow() !== landmarks;
        return moved ? replaced("its address space is another one") : found;
      },
      async sweep() {
        if (foreign === undefined) return this.examine();
        const now = seen(await foreign.ident.hold(peer));
        if (!isAlive(peer.pidfd)) return { kind: "gone" };
        return now.imageInode === imageInode && now.landmarks === landmarks ? { kind: "same" } : replaced("exec");
      },
      close,
    };
  } catch (error) {
    // Opening and reading alike: a process may end between any two of them, and that is never our own failure.
    const refusal =
      descriptorsExhausted(error) ?? (error instanceof Error && "syscall" in error ? refusalOf(peer) : error);
    close();
    throw refusal;
  }
}

interface Baseline {
  readonly peer: Peer;
  readonly execWatch: ExecWatch | undefined;
  readonly maps: number;
  readonly stat: number;
  readonly status: number;
  readonly first: { readonly startTime: string; readonly layout: string };
  readonly imageInode: string;
  /** As it is now, where the kernel does not report exec. */
  imageNow(): string | null;
}

/** What gw-ident opened this time, looked at and given back. */
function seen(opened: Opened): { readonly imageInode: string | null; readonly landmarks: string } {
  const imageInode = inodeOf(`/proc/self/fd/${opened.image}`);
  closeOpened(opened);
  return { imageInode, landmarks: opened.landmarks };
}

function adopt(fd: number | undefined): ExecWatch | undefined {
  return fd === undefined ? undefined : adoptExecWatch(fd);
}

/**
 * Runs before every operation. Where the kernel itself reports exec, the two descriptors and the held address space say
 * all there is to say; otherwise start time, layout and image are compared by hand.
 */
function createCheck(base: Baseline): () => CallerCheck {
  const libc = loadLibc();
  const polled = [base.peer.pidfd, ...(base.execWatch === undefined ? [] : [base.execWatch.fd])];
  const entries = Buffer.alloc(polled.length * POLLFD_SIZE);
  for (const [index, fd] of polled.entries()) {
    entries.writeInt32LE(fd, index * POLLFD_SIZE);
    entries.writeInt16LE(POLLIN, index * POLLFD_SIZE + 4);
  }
  const probe = Buffer.alloc(16);
  return () => {
    const ended = uninterrupted(() => libc.poll(entries, polled.length, 0)) > 0;
    if (ended && entries.readInt16LE(POLLFD_REVENTS_AT) !== 0) return { kind: "gone" };
    // The address space that was opened then: nothing is left of it once the last user has let go.
    const lost = uninterrupted(() => libc.pread(base.maps, probe, probe.length, 0)) <= 0;
    if (ended || lost || base.execWatch === undefined) {
      const found = compare(base, ended || lost);
      if (found.kind !== "same") return found;
    }
    const tracer = parseTracer(readSmall(base.status));
    if (tracer === undefined) return { kind: "gone" };
    return tracer === 0 ? { kind: "same" } : { kind: "traced", tracer };
  };
}

function compare(base: Baseline, ended: boolean): CallerCheck {
  const stat = parseStat(readSmall(base.stat));
  if (stat === undefined || stat.startTime !== base.first.startTime) return { kind: "gone" };
  // A process on its way out loses its counters and its address space a moment before its pidfd says so.
  if (stat.exiting) return { kind: "gone" };
  if (ended) return replaced("exec");
  if (stat.layout !== base.first.layout) return replaced("its memory layout changed");
  if (base.imageNow() !== base.imageInode) return replaced("its executable is another file");
  return { kind: "same" };
}

function replaced(what: string): CallerCheck {
  return { kind: "replaced", what };
}

function readLandmarks(directory: number): string | undefined {
  const text = inspectProc(directory, "maps", MAPS_LIMIT)?.toString("latin1");
  return text === undefined ? undefined : landmarksOf(parseMaps(text));
}

const small = Buffer.alloc(4_096);

/** `stat` and `status` are made anew by each read of an open descriptor; empty once the process is gone. */
function readSmall(fd: number): Buffer {
  const count = uninterrupted(() => loadLibc().pread(fd, small, small.length, 0));
  return small.subarray(0, Math.max(count, 0));
}

function compareNamespaces(directory: number): Hold["namespaces"] {
  const kinds = ["pid", "user"];
  const theirs = kinds.map((kind) => inodeIn(directory, `ns/${kind}`));
  if (theirs.includes(null)) return "unreadable";
  const ours = kinds.map((kind) => inodeOf(`/proc/self/ns/${kind}`));
  return theirs.every((name, index) => name === ours[index]) ? "own" : "other";
}

/** What to say of a process that could not be looked at. */
function refusalOf(peer: Peer): Denied {
  return isAlive(peer.pidfd) ? unreadable(peer) : gone(peer);
}

function gone(peer: Peer): Denied {
  return new Denied("caller_gone", `process ${peer.pid} exited while it was looked at`);
}

function unreadable(peer: Peer): Denied {
  return new Denied(
    "caller_unreadable",
    `process ${peer.pid} of user ${peer.uid} does not let this gateway look at its image; run the agent as the gateway's user and dumpable, or set up gw-ident (docs/install.md)`,
  );
}

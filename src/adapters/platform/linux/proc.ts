import { closeSync, constants, openSync, readlinkSync, readSync } from "node:fs";
import { descriptorsExhausted } from "../descriptors.ts";
import { loadLibc } from "./libc.ts";

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
/** What the kernel knows already: no server of a file system is asked, and none can keep us waiting. */
const AT_STATX_DONT_SYNC = 0x4000;
const STATX_INO = 0x100;
const STATX_SIZE_AND_TIMES = 0x2c0;
const STATX_MNT_ID = 0x1000;
/** Linux 6.8: a number that no later mount gets. */
const STATX_MNT_ID_UNIQUE = 0x4000;
const STATX_INO_AT = 32;
const STATX_SIZE_AT = 40;
const STATX_CTIME_AT = 96;
const STATX_MTIME_AT = 112;
const STATX_MAJOR_AT = 136;
const STATX_MOUNT_AT = 144;
const TIME_BYTES = 12;
const statxAnswer = Buffer.alloc(256);
const SPACE = 0x20;
const CLOSING = 0x29;
const NEWLINE = 0x0a;
const PF_EXITING = 0x4;
const TRACER = Buffer.from("\nTracerPid:\t");

/** Fields of /proc/PID/stat. The mm values are chosen at random by every exec, so they tell one image from the next. */
export interface ProcStat {
  /** The process is on its way out, though its pidfd may not say so yet. */
  readonly exiting: boolean;
  readonly parent: number;
  readonly startTime: string;
  /** start_code, end_code, start_stack, start_data, end_data and start_brk, joined; zeros where we may not look. */
  readonly layout: string;
}

export interface Mapping {
  readonly start: string;
  readonly end: string;
  readonly executable: boolean;
  readonly device: string;
  readonly inode: string;
  readonly path: string;
}

/** Opens the directory itself: a later process with this pid is not reachable through it. */
export function openProcess(pid: number): number {
  return openSync(`/proc/${pid}`, constants.O_RDONLY | constants.O_DIRECTORY);
}

export function pathIn(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

/** Reads one file of /proc, bounded: what is longer than the limit is not a file we understand. */
export function readProc(directory: number, name: string, limitBytes: number): Buffer | undefined {
  try {
    return inspectProc(directory, name, limitBytes);
  } catch {
    return undefined;
  }
}

/** The same, but Denied where it is this process that can open nothing more: that says nothing of the one that is looked at. */
export function inspectProc(directory: number, name: string, limitBytes: number): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(pathIn(directory, name), constants.O_RDONLY);
  } catch (error) {
    const ours = descriptorsExhausted(error);
    if (ours !== undefined) throw ours;
    return undefined;
  }
  try {
    return readWhole(fd, limitBytes);
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

export function readWhole(fd: number, limitBytes: number): Buffer | undefined {
  const parts: Buffer[] = [];
  let total = 0;
  for (;;) {
    const part = Buffer.alloc(Math.min(65_536, limitBytes - total + 1));
    const count = readSync(fd, part, 0, part.length, total);
    if (count === 0) return Buffer.concat(parts);
    total += count;
    if (total > limitBytes) return undefined;
    parts.push(part.subarray(0, count));
  }
}

export function readLink(directory: number, name: string): string | null {
  try {
    return readlinkSync(pathIn(directory, name));
  } catch {
    return null;
  }
}

/** Device and inode of a file or of what a magic link of /proc points at; null where we may not look. */
export function inodeOf(path: string): string | null {
  return inodeIn(AT_FDCWD, path);
}

export function inodeIn(directory: number, name: string): string | null {
  if (loadLibc().statx(directory, name, AT_STATX_DONT_SYNC, STATX_INO, statxAnswer) !== 0) return null;
  return `${deviceOf(statxAnswer)} ${statxAnswer.readBigUInt64LE(STATX_INO_AT)}`;
}

/** The opened file, told from all others by what a file system keeps of it. Only the kernel's own are to be believed in that. */
export interface FileIdentity {
  readonly name: string;
  readonly bytes: bigint;
  /** The mount that it lies on, of which there is no second one until the machine stops; null before Linux 6.8. */
  readonly mount: string | null;
}

export function identityIn(fd: number): FileIdentity | null {
  const wanted = STATX_INO | STATX_SIZE_AND_TIMES | STATX_MNT_ID_UNIQUE;
  if (loadLibc().statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, statxAnswer) !== 0) return null;
  const bytes = statxAnswer.readBigUInt64LE(STATX_SIZE_AT);
  const [changed, written] = [STATX_CTIME_AT, STATX_MTIME_AT].map((at) =>
    statxAnswer.toString("hex", at, at + TIME_BYTES),
  );
  const name = [deviceOf(statxAnswer), statxAnswer.readBigUInt64LE(STATX_INO_AT), written, changed, bytes].join(" ");
  return { name, bytes, mount: mountIn(statxAnswer, STATX_MNT_ID_UNIQUE) };
}

/** Where a file lies: its device (`major:minor`), its inode, and its mount as `mountinfo` numbers them (null before Linux 5.8). */
export interface Place {
  readonly device: string;
  readonly inode: string;
  readonly mount: string | null;
}

/** Of a name, which is walked: on a file system that a program answers for this may take as long as that program pleases. */
export function placeOf(path: string): Place | null {
  return placeIn(AT_FDCWD, path, AT_STATX_DONT_SYNC);
}

export function placeOfOpened(fd: number): Place | null {
  return placeIn(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC);
}

function placeIn(directory: number, name: string, flags: number): Place | null {
  if (loadLibc().statx(directory, name, flags, STATX_INO | STATX_MNT_ID, statxAnswer) !== 0) return null;
  const inode = statxAnswer.readBigUInt64LE(STATX_INO_AT).toString();
  return { device: deviceOf(statxAnswer), inode, mount: mountIn(statxAnswer, STATX_MNT_ID) };
}

function mountIn(answer: Buffer, kind: number): string | null {
  return (answer.readUInt32LE(0) & kind) === 0 ? null : answer.readBigUInt64LE(STATX_MOUNT_AT).toString();
}

function deviceOf(answer: Buffer): string {
  return `${answer.readUInt32LE(STATX_MAJOR_AT)}:${answer.readUInt32LE(STATX_MAJOR_AT + 4)}`;
}

/**
 * The name stands in parentheses and may hold anything, so fields are counted from its last one. Works on bytes, because
 * it runs before every operation.
 */
export function parseStat(line: Buffer): ProcStat | undefined {
  const starts: number[] = [];
  const from = line.lastIndexOf(CLOSING) + 2;
  if (from < 2 || from >= line.length) return undefined;
  starts.push(from);
  for (let at = from; at < line.length; at++) if (line[at] === SPACE) starts.push(at + 1);
  const field = (first: number, last = first): string | undefined => {
    const [start, end] = [starts[first], starts[last + 1]];
    return start === undefined || end === undefined ? undefined : line.toString("latin1", start, end - 1);
  };
  const [parent, flags, startTime] = [field(1), field(6), field(19)];
  const [code, data] = [field(23, 25), field(42, 44)];
  if (parent === undefined || flags === undefined || startTime === undefined) return undefined;
  if (code === undefined || data === undefined) return undefined;
  const exiting = (Number(flags) & PF_EXITING) !== 0;
  return { exiting, parent: Number(parent), startTime, layout: `${code} ${data}` };
}

/** The process that traces, 0 for none; undefined when there is nothing to read. */
export function parseTracer(status: Buffer): number | undefined {
  const at = status.indexOf(TRACER);
  if (at < 0) return undefined;
  const start = at + TRACER.length;
  return Number(status.toString("latin1", start, status.indexOf(NEWLINE, start)));
}

export function parseMaps(text: string): Mapping[] {
  const mappings: Mapping[] = [];
  for (const line of text.split("\n")) {
    const found = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ (\S+) (\d+) *(.*)$/.exec(line);
    if (found === null) continue;
    const [, start = "", end = "", permissions = "", device = "", inode = "", path = ""] = found;
    mappings.push({ start, end, executable: permissions[2] === "x", device, inode, path });
  }
  return mappings;
}

/** The parts of an address space that exec moves. A stack grows downwards, so only its upper end counts. */
export function landmarksOf(mappings: readonly Mapping[]): string {
  const stack = mappings.find(({ path }) => path === "[stack]");
  const vdso = mappings.find(({ path }) => path === "[vdso]");
  const first = mappings.find(({ executable, inode }) => executable && inode !== "0");
  return [stack?.end, vdso?.start, vdso?.end, first?.start, first?.end, first?.device, first?.inode].join(" ");
}

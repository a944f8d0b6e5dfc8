import { closeSync, constants, openSync, readlinkSync, readSync, statSync } from "node:fs";

/** Fields of /proc/PID/stat. The mm values are chosen at random by every exec, so they tell one image from the next. */
export interface ProcStat {
  readonly state: string;
  readonly parent: number;
  readonly startTime: string;
  /** start_code, end_code, start_stack, start_data, end_data and start_brk, joined; zeros where we may not look. */
  readonly layout: string;
}

export const NO_LAYOUT = "0 0 0 0 0 0";

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
  let fd: number;
  try {
    fd = openSync(pathIn(directory, name), constants.O_RDONLY);
  } catch {
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

/** Device and inode of what a magic link of /proc points at; null where we may not look. */
export function inodeOf(path: string): string | null {
  try {
    const found = statSync(path, { bigint: true });
    return `${found.dev}:${found.ino}`;
  } catch {
    return null;
  }
}

/** The name stands in parentheses and may hold anything, so fields are counted from the last one. */
export function parseStat(text: string): ProcStat | undefined {
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .trimEnd()
    .split(" ");
  const [state, parent] = fields;
  const startTime = fields[19];
  if (state === undefined || parent === undefined || startTime === undefined || fields.length < 49) return undefined;
  if (!/^\d+$/.test(startTime) || !/^\d+$/.test(parent)) return undefined;
  const layout = [...fields.slice(23, 26), ...fields.slice(42, 45)].join(" ");
  return { state, parent: Number(parent), startTime, layout };
}

export function parseTracer(status: string): number | undefined {
  const found = /^TracerPid:\t(\d+)$/m.exec(status);
  return found?.[1] === undefined ? undefined : Number(found[1]);
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

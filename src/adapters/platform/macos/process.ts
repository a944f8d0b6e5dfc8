import type { Ancestor } from "../../../conventions/caller/evidence.ts";
import { loadLibraries } from "./libraries.ts";

export interface MacosProcess {
  readonly parent: number;
  readonly startTime: string;
  readonly traced: boolean;
}

const PROC_PIDTBSDINFO = 3;
const BSDINFO_BYTES = 136;
const FLAG_TRACED = 0x2;
const PATH_BYTES = 4_096;
const DEPTH = 32;

/** struct proc_bsdinfo; undefined when there is no such process or we may not look. */
export function readProcess(pid: number): MacosProcess | undefined {
  const answer = Buffer.alloc(BSDINFO_BYTES);
  const size = loadLibraries().procPidinfo(pid, PROC_PIDTBSDINFO, 0n, answer, answer.length);
  return size === BSDINFO_BYTES ? parseProcess(answer) : undefined;
}

export function parseProcess(answer: Buffer): MacosProcess {
  return {
    parent: answer.readUInt32LE(16),
    startTime: `${answer.readBigUInt64LE(120)}.${answer.readBigUInt64LE(128).toString().padStart(6, "0")}`,
    traced: (answer.readUInt32LE(0) & FLAG_TRACED) !== 0,
  };
}

export function readPath(pid: number): string | null {
  const path = Buffer.alloc(PATH_BYTES);
  const length = loadLibraries().procPidpath(pid, path, path.length);
  return length > 0 ? path.toString("utf8", 0, length) : null;
}

/** Context for a person; macOS has no handle that would hold a parent, so the start time is all that tells. */
export function walkParents(pid: number): readonly Ancestor[] {
  const ancestors: Ancestor[] = [];
  let next = readProcess(pid)?.parent ?? 0;
  while (next > 0 && ancestors.length < DEPTH) {
    const found = readProcess(next);
    if (found === undefined) break;
    ancestors.push({ pid: next, startTime: found.startTime, path: readPath(next) });
    next = found.parent;
  }
  return ancestors;
}

import { closeSync, constants, existsSync, openSync, readFileSync, statSync } from "node:fs";
import type { BoxPlan } from "../../../../conventions/box/plan.ts";
import { loadLibc } from "../libc.ts";
import { must } from "./step.ts";

const O_PATH = 0o10000000;
const WRITE_FILE = 1n << 1n;
/** Removing, and making things of every kind. */
const CHANGE_FOLDER = 0b1_1111_1111_0000n;
const MOVE_BETWEEN = 1n << 13n;
const TRUNCATE = 1n << 14n;
const IN_FILE = WRITE_FILE | TRUNCATE;
/** Older ones refuse every move from one folder to another, which git and npm do all the time. */
const LEAST_VERSION = 2;
const KNOWS_TRUNCATE = 3;
const STREAMS = [0, 1, 2];

/** The kernel's version of it; 0 where it has none, or it is switched off. */
export function landlockVersion(): number {
  return Math.max(0, loadLibc().landlockVersion());
}

export function hasLandlock(): boolean {
  return landlockVersion() >= LEAST_VERSION;
}

/**
 * Says once more what the mounts say, in a way that holds for every path to a file: whatever leads around them, such as a file that
 * was open when the box began, leads to nothing that could be opened for writing; from version 3 on, truncated. Modes, times and
 * attributes are no matter of it. Where the kernel has none of it the mounts are alone.
 */
export function keepToFolders({ folder, write, cover }: BoxPlan): void {
  const version = landlockVersion();
  if (version < LEAST_VERSION) return;
  const libc = loadLibc();
  const known = version < KNOWS_TRUNCATE ? ~TRUNCATE : ~0n;
  const handled = (IN_FILE | CHANGE_FOLDER | MOVE_BETWEEN) & known;
  const attributes = Buffer.alloc(8);
  attributes.writeBigUInt64LE(handled);
  const rules = must(libc.landlockCreate(attributes, attributes.length), "make rules of Landlock");
  const allow = (path: string): void => {
    const fd = openSync(path, constants.O_RDONLY | O_PATH);
    const beneath = Buffer.alloc(12);
    beneath.writeBigUInt64LE(statSync(path).isDirectory() ? handled : IN_FILE & known);
    beneath.writeInt32LE(fd, 8);
    must(libc.landlockAdd(rules, beneath), `allow writing below ${path}`);
    closeSync(fd);
  };
  for (const path of new Set([folder, ...write, ...cover, "/dev", "/proc"])) if (existsSync(path)) allow(path);
  for (const stream of STREAMS.filter(isWritableFile)) allow(`/proc/self/fd/${stream}`);
  must(libc.landlockRestrict(rules), "keep to the rules of Landlock");
  closeSync(rules);
}

/** `> file` outside: tools open it once more by the name /dev/stdout. */
function isWritableFile(fd: number): boolean {
  if (!(statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false })?.isFile() ?? false)) return false;
  const [, flags = "0"] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8")) ?? [];
  return (Number.parseInt(flags, 8) & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
}

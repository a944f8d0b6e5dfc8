import { lastErrno, loadLibc, nameErrno } from "../libc.ts";

/** One thing that the kernel refused while a box was built. */
export class StepRefused extends Error {
  override readonly name = "StepRefused";
  readonly what: string;
  readonly code: string;

  constructor(what: string, code: string) {
    super(`${what}: ${code}`);
    this.what = what;
    this.code = code;
  }
}

export function must(result: number, what: string): number {
  if (result >= 0) return result;
  throw new StepRefused(what, nameErrno(lastErrno()));
}

export const NOSUID = 2;
export const NODEV = 4;
export const NOEXEC = 8;
const BIND = 4_096;
const RECURSIVE = 16_384;
const AT_FDCWD = -100;
const AT_RECURSIVE = 0x8000;
const ATTR_RDONLY = 1n;
const ATTR_NOSUID = 2n;

export function mountNew(type: "tmpfs" | "proc" | "devpts", path: string, flags: number, data: string | null): void {
  must(loadLibc().mount(type, path, type, flags, data), `mount ${type} on ${path}`);
}

/** The thing that `source` is, seen at `path` as well. */
export function mountBind(source: string, path: string): void {
  must(loadLibc().mount(source, path, null, BIND | RECURSIVE, null), `bind ${path}`);
}

export function closeToWriting(path: string): void {
  must(setAttributes(path, ATTR_RDONLY | ATTR_NOSUID, 0n, true), `make ${path} read-only`);
}

/** What was read-only outside stays so: the kernel keeps it from being opened again. */
export function openToWriting(path: string): void {
  if (setAttributes(path, 0n, ATTR_RDONLY, true) < 0) setAttributes(path, 0n, ATTR_RDONLY, false);
}

function setAttributes(path: string, set: bigint, clear: bigint, recursive: boolean): number {
  const attributes = Buffer.alloc(32);
  attributes.writeBigUInt64LE(set, 0);
  attributes.writeBigUInt64LE(clear, 8);
  return loadLibc().mountSetattr(AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, attributes, attributes.length);
}

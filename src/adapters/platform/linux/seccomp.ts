import koffi from "koffi";
import { Denied } from "../../../kernel/failure.ts";
import { lastErrno, loadLibc, nameErrno } from "./libc.ts";

/** Filters of system calls, as the kernel's small machine reads them. */
export const RET_ALLOW = 0x7fff0000;
export const RET_ERRNO = 0x00050000;
export const RET_KILL = 0x80000000;
export const EPERM = 1;
export const ENOSYS = 38;
export const LOAD = 0x20;
export const JUMP_EQUAL = 0x15;
export const JUMP_AT_LEAST = 0x35;
export const JUMP_ANY_BIT = 0x45;
export const RETURN = 0x06;
/** The other calling convention of the same machine has numbers of its own, from here on. */
export const X32_BIT = 0x40000000;
const SECCOMP_SET_MODE_FILTER = 1;
const SECCOMP_FILTER_FLAG_TSYNC = 1;

export interface Step {
  readonly code: number;
  readonly yes?: number;
  readonly no?: number;
  readonly value: number;
}

/** In struct seccomp_data, where the number is at 0 and the architecture at 4: the low half of an argument. */
export function argumentAt(index: number): number {
  return 16 + index * 8;
}

/** For every thread of this process and all that it starts, for good. */
export function installFilter(steps: readonly Step[]): void {
  const filter = encode(steps);
  const memory: unknown = koffi.alloc("uint8_t", 16 + filter.length);
  const start = koffi.address(memory);
  const whole = Buffer.from(koffi.view(memory, 16 + filter.length));
  filter.copy(whole, 16);
  const program = whole.subarray(0, 16);
  program.fill(0);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(start + 16n, 8);
  const result = loadLibc().seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
  if (result !== 0) {
    throw new Denied("program_not_hardened", `the kernel refused a filter of system calls (${nameErrno(lastErrno())})`);
  }
}

function encode(steps: readonly Step[]): Buffer {
  const filter = Buffer.alloc(steps.length * 8);
  for (const [at, { code, yes = 0, no = 0, value }] of steps.entries()) {
    filter.writeUInt16LE(code, at * 8);
    filter.writeUInt8(yes, at * 8 + 2);
    filter.writeUInt8(no, at * 8 + 3);
    filter.writeUInt32LE(value >>> 0, at * 8 + 4);
  }
  return filter;
}

import { closeSync } from "node:fs";
import { loadLibc } from "./libc.ts";

/**
 * Lets the kernel say that a process has called exec: a counter that counts nothing and is removed by exec. Its
 * descriptor then hangs up. Nothing the process does can undo that, and nobody has to look at it meanwhile.
 */
export interface ExecWatch {
  readonly fd: number;
  close(): void;
}

const ATTRIBUTES_SIZE = 128;
const PERF_TYPE_SOFTWARE = 1;
const PERF_COUNT_SW_DUMMY = 9n;
const EXCLUDE_KERNEL = 1n << 5n;
const EXCLUDE_HYPERVISOR = 1n << 6n;
const REMOVE_ON_EXEC = 1n << 36n;
const PERF_FLAG_FD_CLOEXEC = 8;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
// Without a ring the descriptor reports a hang-up from the start. Nothing is ever written to it.
const RING_BYTES = 8_192;

/** Undefined where the kernel does not let us (perf_event_paranoid, before 5.13): checks then rest on /proc alone. */
export function watchExec(pid: number): ExecWatch | undefined {
  const libc = loadLibc();
  const attributes = Buffer.alloc(ATTRIBUTES_SIZE);
  attributes.writeUInt32LE(PERF_TYPE_SOFTWARE, 0);
  attributes.writeUInt32LE(ATTRIBUTES_SIZE, 4);
  attributes.writeBigUInt64LE(PERF_COUNT_SW_DUMMY, 8);
  attributes.writeBigUInt64LE(EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | REMOVE_ON_EXEC, 40);
  const fd = libc.perfEventOpen(attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? undefined : adoptExecWatch(fd);
}

/** Takes over such a counter, also one that gw-ident made for us. */
export function adoptExecWatch(fd: number): ExecWatch | undefined {
  const libc = loadLibc();
  const ring = libc.mmap(null, RING_BYTES, PROT_READ_WRITE, MAP_SHARED, fd, 0);
  if (BigInt.asIntN(64, BigInt(ring)) === -1n) {
    closeSync(fd);
    return undefined;
  }
  return {
    fd,
    close() {
      libc.munmap(ring, RING_BYTES);
      closeSync(fd);
    },
  };
}

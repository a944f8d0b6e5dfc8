import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { Denied, Fault } from "../../../../kernel/failure.ts";
import { loadLibc } from "../libc.ts";
import {
  argumentAt,
  ENOSYS,
  EPERM,
  installFilter,
  JUMP_ANY_BIT,
  JUMP_AT_LEAST,
  JUMP_EQUAL,
  LOAD,
  RET_ALLOW,
  RET_ERRNO,
  RET_KILL,
  RETURN,
  type Step,
  X32_BIT,
} from "../seccomp.ts";

/**
 * What gw-ident gives up before its first question. CAP_SYS_PTRACE lets it open other users' processes for reading. The filter
 * names the few calls that answering takes, and refuses every other: tracing, memory of others, signals, network, programs,
 * writing, and the rings (io_uring) that Node opened before, which would do all of that without a call.
 */
const CAP_SYS_PTRACE = 19n;
const CLONE_THREAD = 0x10000;
/** O_WRONLY, O_RDWR, O_CREAT and O_TRUNC, which empties a file that was opened for reading. */
const WRITES = 0o1103;

interface Numbers {
  readonly architecture: number;
  readonly allowed: readonly number[];
  /** Calls that open a file, with the argument that holds the flags. */
  readonly opens: readonly (readonly [number, number])[];
  readonly clone: number;
  readonly clone3: number;
  /** A signal to ourselves alone: how the C library ends a program that found itself broken. */
  readonly tgkill: number;
}

/** Names, not numbers, are what a reader can judge. */
const X64 = {
  questions: { poll: 7, sendmsg: 46, recvmsg: 47, getsockopt: 55, accept4: 288 },
  files: { read: 0, write: 1, close: 3, fstat: 5, lseek: 8, pread64: 17, writev: 20, readlink: 89 },
  names: { statfs: 137, fstatfs: 138, newfstatat: 262, readlinkat: 267, statx: 332 },
  watch: { perf_event_open: 298 },
  memory: { mmap: 9, mprotect: 10, munmap: 11, brk: 12, mremap: 25, madvise: 28, pkey_mprotect: 329 },
  threads: {
    ...{ futex: 202, sched_yield: 24, set_robust_list: 273, rseq: 334, gettid: 186, getpid: 39 },
    ...{ sched_getaffinity: 204, membarrier: 324, getcpu: 309, exit: 60, exit_group: 231, restart_syscall: 219 },
  },
  signals: { rt_sigaction: 13, rt_sigprocmask: 14, rt_sigreturn: 15, sigaltstack: 131 },
  loop: { epoll_wait: 232, epoll_ctl: 233, epoll_pwait: 281 },
  time: { gettimeofday: 96, clock_gettime: 228, clock_getres: 229, clock_nanosleep: 230, nanosleep: 35, getrusage: 98 },
  facts: { getuid: 102, getgid: 104, geteuid: 107, getegid: 108, sysinfo: 99, getrandom: 318 },
} as const;
const ARM64 = {
  questions: { ppoll: 73, sendmsg: 211, recvmsg: 212, getsockopt: 209, accept4: 242 },
  files: { read: 63, write: 64, close: 57, fstat: 80, lseek: 62, pread64: 67, writev: 66 },
  names: { statfs: 43, fstatfs: 44, newfstatat: 79, readlinkat: 78, statx: 291 },
  watch: { perf_event_open: 241 },
  memory: { mmap: 222, mprotect: 226, munmap: 215, brk: 214, mremap: 216, madvise: 233, pkey_mprotect: 288 },
  threads: {
    ...{ futex: 98, sched_yield: 124, set_robust_list: 99, rseq: 293, gettid: 178, getpid: 172 },
    ...{ sched_getaffinity: 123, membarrier: 283, getcpu: 168, exit: 93, exit_group: 94, restart_syscall: 128 },
  },
  signals: { rt_sigaction: 134, rt_sigprocmask: 135, rt_sigreturn: 139, sigaltstack: 132 },
  loop: { epoll_ctl: 21, epoll_pwait: 22 },
  time: {
    gettimeofday: 169,
    clock_gettime: 113,
    clock_getres: 114,
    clock_nanosleep: 115,
    nanosleep: 101,
    getrusage: 165,
  },
  facts: { getuid: 174, getgid: 176, geteuid: 175, getegid: 177, sysinfo: 179, getrandom: 278 },
} as const;

const numbersOf = (groups: Readonly<Record<string, Readonly<Record<string, number>>>>): readonly number[] =>
  Object.values(groups).flatMap((group) => Object.values(group));

const NUMBERS: Readonly<Record<string, Numbers>> = {
  x64: {
    architecture: 0xc000003e,
    allowed: numbersOf(X64),
    opens: [
      [2, 1],
      [257, 2],
    ],
    clone: 56,
    clone3: 435,
    tgkill: 234,
  },
  arm64: {
    architecture: 0xc00000b7,
    allowed: numbersOf(ARM64),
    opens: [[56, 2]],
    clone: 220,
    clone3: 435,
    tgkill: 131,
  },
};

/** Refuses every set of rights but the one: rights of other threads cannot be shed from here, so they must not be there. */
export function requireOneRight(): void {
  const status = readFileSync("/proc/self/status", "latin1");
  const found = BigInt(`0x${/^CapPrm:\t([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  if (found === 1n << CAP_SYS_PTRACE && process.geteuid?.() !== 0) return;
  throw new Denied(
    "ident_not_permitted",
    `gw-ident runs as a user of its own with CAP_SYS_PTRACE and no other right (it has ${found.toString(16)} as user ${process.geteuid?.()}). Start it by its unit, or: setpriv --reuid USER --regid GATEWAY-GROUP --clear-groups --bounding-set -all,+sys_ptrace --inh-caps -all,+sys_ptrace --ambient-caps -all,+sys_ptrace gw-ident`,
  );
}

/** For every thread of this process, and for good. */
export function confine(): void {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined) throw new Fault(`gw-ident knows no filter for ${process.arch}`);
  // Node would put its streams back first, by a call that is refused here, and abort: whoever stopped us would find a crash.
  for (const signal of [constants.signals.SIGTERM, constants.signals.SIGINT]) loadLibc().signal(signal, null);
  installFilter(filterOf(numbers));
}

/** What is not named is refused. */
function filterOf({ architecture, allowed, opens, clone, clone3, tgkill }: Numbers): readonly Step[] {
  const deny: Step = { code: RETURN, value: RET_ERRNO | EPERM };
  const allow: Step = { code: RETURN, value: RET_ALLOW };
  return [
    { code: LOAD, value: 4 },
    { code: JUMP_EQUAL, value: architecture, yes: 1 },
    { code: RETURN, value: RET_KILL },
    { code: LOAD, value: 0 },
    // The other calling convention of the same machine has numbers of its own.
    { code: JUMP_AT_LEAST, value: X32_BIT, no: 1 },
    deny,
    { code: JUMP_EQUAL, value: clone3, no: 1 },
    // The C library then falls back to clone, whose flags can be looked at.
    { code: RETURN, value: RET_ERRNO | ENOSYS },
    ...allowed.flatMap((number): Step[] => [{ code: JUMP_EQUAL, value: number, no: 1 }, allow]),
    ...opens.flatMap(([number, at]): Step[] => [
      { code: JUMP_EQUAL, value: number, no: 4 },
      { code: LOAD, value: argumentAt(at) },
      { code: JUMP_ANY_BIT, value: WRITES, no: 1 },
      deny,
      allow,
    ]),
    { code: JUMP_EQUAL, value: clone, no: 4 },
    { code: LOAD, value: argumentAt(0) },
    { code: JUMP_ANY_BIT, value: CLONE_THREAD, no: 1 },
    allow,
    deny,
    { code: JUMP_EQUAL, value: tgkill, no: 3 },
    { code: LOAD, value: argumentAt(0) },
    { code: JUMP_EQUAL, value: process.pid, no: 1 },
    allow,
    deny,
  ];
}

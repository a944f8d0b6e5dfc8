import { readFileSync } from "node:fs";
import { Denied, Fault } from "../../../../kernel/failure.ts";
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
 * What gw-ident gives up before its first question. CAP_SYS_PTRACE lets it open other users' processes for reading; the
 * filter takes away all that this right could do beyond: tracing, memory of others, signals, network, programs, writing.
 */
const CAP_SYS_PTRACE = 19n;
const CLONE_THREAD = 0x10000;
/** O_WRONLY, O_RDWR and O_CREAT. */
const WRITES = 0o103;

interface Numbers {
  readonly architecture: number;
  readonly denied: readonly number[];
  /** Calls that open a file, with the argument that holds the flags. */
  readonly opens: readonly (readonly [number, number])[];
  readonly clone: number;
  readonly clone3: number;
}

const X64 = {
  network: [41, 42, 49, 50, 53],
  others: [101, 310, 311, 438, 62, 200, 424, 129],
  programs: [59, 322, 57, 58],
  kernel: [321, 425, 165, 166, 272, 308, 248, 249, 250, 175, 313, 246, 304, 155, 161, 437],
  files: [82, 83, 84, 85, 86, 87, 88, 76, 77, 90, 91, 92, 93, 94, 133, 258, 259, 260, 263, 264, 265, 266, 268, 316],
} as const;
const ARM64 = {
  network: [198, 203, 200, 201, 199],
  others: [117, 270, 271, 438, 129, 130, 424, 138],
  programs: [221, 281],
  kernel: [280, 425, 40, 39, 97, 268, 217, 218, 219, 105, 273, 104, 265, 41, 51, 437],
  files: [33, 34, 35, 36, 37, 38, 45, 46, 52, 53, 54, 55, 276],
} as const;

const NUMBERS: Readonly<Record<string, Numbers>> = {
  x64: {
    architecture: 0xc000003e,
    denied: Object.values(X64).flat(),
    opens: [
      [2, 1],
      [257, 2],
    ],
    clone: 56,
    clone3: 435,
  },
  arm64: {
    architecture: 0xc00000b7,
    denied: Object.values(ARM64).flat(),
    opens: [[56, 2]],
    clone: 220,
    clone3: 435,
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
  installFilter(filterOf(numbers));
}

function filterOf({ architecture, denied, opens, clone, clone3 }: Numbers): readonly Step[] {
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
    ...denied.flatMap((number): Step[] => [{ code: JUMP_EQUAL, value: number, no: 1 }, deny]),
    ...opens.flatMap(([number, at]): Step[] => [
      { code: JUMP_EQUAL, value: number, no: 4 },
      { code: LOAD, value: argumentAt(at) },
      { code: JUMP_ANY_BIT, value: WRITES, no: 1 },
      deny,
      allow,
    ]),
    { code: JUMP_EQUAL, value: clone, no: 3 },
    { code: LOAD, value: argumentAt(0) },
    { code: JUMP_ANY_BIT, value: CLONE_THREAD, yes: 1 },
    deny,
    allow,
  ];
}

import { writeFileSync } from "node:fs";
import type { BoxPlan } from "../../../../conventions/box/plan.ts";
import { Fault } from "../../../../kernel/failure.ts";
import { loadLibc } from "../libc.ts";
import {
  argumentAt,
  ENOSYS,
  EPERM,
  installFilter,
  JUMP_AT_LEAST,
  JUMP_EQUAL,
  LOAD,
  RET_ALLOW,
  RET_ERRNO,
  RETURN,
  type Step,
  X32_BIT,
} from "../seccomp.ts";
import { keepToFolders } from "./landlock.ts";
import { must } from "./step.ts";

const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const CAPABILITY_VERSION = 0x20080522;
const CAPABILITIES = 64;
const CLOSE_RANGE_CLOEXEC = 4;
const KEYCTL_JOIN_SESSION_KEYRING = 1;
const EAFNOSUPPORT = 97;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** UNIX, INET, INET6, NETLINK. AF_VSOCK does not know of network namespaces at all: this is what keeps it out. */
const FAMILIES = [1, 2, 10, 16];

interface Numbers {
  readonly architecture: number;
  readonly sockets: readonly number[];
  readonly ioctl: number;
  /** io_uring opens sockets behind the filter's back. */
  readonly absent: readonly number[];
  /** Keyrings are not of a namespace; the others are the kernel's own machinery, which no tool needs. */
  readonly denied: readonly number[];
}

const IO_URING = [425, 426, 427];
const NUMBERS: Readonly<Record<string, Numbers>> = {
  x64: {
    architecture: 0xc000003e,
    sockets: [41, 53],
    ioctl: 16,
    absent: IO_URING,
    denied: [248, 249, 250, 321, 298, 323],
  },
  arm64: {
    architecture: 0xc00000b7,
    sockets: [198, 199],
    ioctl: 29,
    absent: IO_URING,
    denied: [217, 218, 219, 280, 241, 282],
  },
};

/** Whoever built the box could change it. For good. */
export function giveAwayRights(): void {
  const libc = loadLibc();
  // No namespaces within: they would give back, over themselves, every right that is dropped here.
  writeFileSync("/proc/sys/user/max_user_namespaces", "0");
  for (let capability = 0; capability < CAPABILITIES; capability++) {
    if (libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) break;
  }
  must(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "drop ambient capabilities");
  const header = Buffer.alloc(8);
  header.writeUInt32LE(CAPABILITY_VERSION, 0);
  must(libc.capset(header, Buffer.alloc(24)), "drop capabilities");
}

/** The last thing before the command, in every box. */
export function closeBox(plan: BoxPlan): void {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined) throw new Fault(`no filter is known for ${process.arch}`);
  const libc = loadLibc();
  libc.keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
  must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  keepToFolders(plan);
  must(libc.closeRange(3, 0xffffffff, CLOSE_RANGE_CLOEXEC), "close_range");
  installFilter(filterOf(numbers));
}

function filterOf({ architecture, sockets, ioctl, absent, denied }: Numbers): readonly Step[] {
  const refuse = (errno: number): Step => ({ code: RETURN, value: RET_ERRNO | errno });
  const allow: Step = { code: RETURN, value: RET_ALLOW };
  return [
    { code: LOAD, value: 4 },
    { code: JUMP_EQUAL, value: architecture, yes: 1 },
    refuse(ENOSYS),
    { code: LOAD, value: 0 },
    { code: JUMP_AT_LEAST, value: X32_BIT, no: 1 },
    refuse(ENOSYS),
    ...absent.flatMap((number): Step[] => [{ code: JUMP_EQUAL, value: number, no: 1 }, refuse(ENOSYS)]),
    ...denied.flatMap((number): Step[] => [{ code: JUMP_EQUAL, value: number, no: 1 }, refuse(EPERM)]),
    ...sockets.flatMap((number): Step[] => [
      { code: JUMP_EQUAL, value: number, no: FAMILIES.length + 3 },
      { code: LOAD, value: argumentAt(0) },
      ...FAMILIES.map((value, at): Step => ({ code: JUMP_EQUAL, value, yes: FAMILIES.length - at })),
      refuse(EAFNOSUPPORT),
      allow,
    ]),
    // Typing into the terminal that a person uses.
    { code: JUMP_EQUAL, value: ioctl, no: 5 },
    { code: LOAD, value: argumentAt(1) },
    { code: JUMP_EQUAL, value: TIOCSTI, yes: 2 },
    { code: JUMP_EQUAL, value: TIOCLINUX, yes: 1 },
    allow,
    refuse(EPERM),
    allow,
  ];
}

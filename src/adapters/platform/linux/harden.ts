import { readFileSync } from "node:fs";
import { url as inspectorUrl } from "node:inspector";
import { Denied } from "../../../kernel/failure.ts";
import { isAllowedVariable } from "../environment.ts";
import { lastErrno, loadLibc, nameErrno } from "./libc.ts";
import { parseTracer } from "./proc.ts";

/** What a program needs to differ in. Everything else is the same for all of our programs. */
export interface HardenOptions {
  /**
   * True for programs that are callers themselves (`gw call`, `gw mcp`, `gw run`): the gateway has to look at their
   * image, and they hold nothing that the agent who started them does not have.
   */
  readonly inspectable: boolean;
  /** True for programs that start something with more rights, such as a receiver behind a sudo rule. */
  readonly startsPrivileged: boolean;
}

const PR_SET_DUMPABLE = 4;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_SET_CHILD_SUBREAPER = 36;
const RLIMIT_CORE = 4;
const UMASK = 0o077;
const SIGUSR1 = 10n;
/** What a caller still loses, which passes a person's environment on. */
const DROPPED = ["NODE_", "LD_", "SSL_", "OPENSSL_", "GCONV_PATH", "LOCPATH", "GLIBC_TUNABLES"];
/** These have already acted on this process if they are still here: the launcher was not used. */
const ACTED = [
  "NODE_OPTIONS",
  "LD_PRELOAD",
  "LD_AUDIT",
  "OPENSSL_CONF",
  "OPENSSL_MODULES",
  "OPENSSL_ENGINES",
  "GCONV_PATH",
];

/** Runs first in every program, before anything secret is read. Throws `Denied` when a protection cannot be had. */
export function hardenLinux(options: HardenOptions): void {
  const status = readFileSync("/proc/self/status");
  const tracer = parseTracer(status);
  if (tracer !== 0) throw new Denied("program_traced", `process ${tracer ?? "?"} traces this program`);
  refuseDebugging(status.toString("latin1"));
  dropVariables(options.inspectable);
  process.umask(UMASK);
  const libc = loadLibc();
  const noCores = Buffer.alloc(16);
  require0(libc.setrlimit(RLIMIT_CORE, noCores), "no core files");
  if (!options.inspectable) require0(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "memory closed to others");
  if (!options.startsPrivileged) require0(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
  // Again: a tracer that came while this ran is in from before the memory was closed.
  const late = parseTracer(readFileSync("/proc/self/status"));
  if (late !== 0) throw new Denied("program_traced", `process ${late ?? "?"} traces this program`);
}

/** Lets other programs of this user see which program this is, for as long as `work` takes. For one that holds no secret yet. */
export async function whileInspectable<Result>(work: () => Promise<Result>): Promise<Result> {
  const libc = loadLibc();
  require0(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "open to a look");
  try {
    return await work();
  } finally {
    require0(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "memory closed to others");
  }
}

/** Orphans below this process stay below it, so that their ancestry still reaches it. For `gw run`. */
export function becomeSubreaper(): void {
  require0(loadLibc().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "orphans stay below this program");
}

function refuseDebugging(status: string): void {
  const caught = /^SigCgt:\t([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  const signalled = ((BigInt(`0x${caught}`) >> (SIGUSR1 - 1n)) & 1n) === 1n;
  if (signalled || !process.execArgv.includes("--disable-sigusr1")) {
    throw new Denied("program_debuggable", "SIGUSR1 would open the inspector: start this program with its launcher");
  }
  const flag = process.execArgv.find((argument) => argument.startsWith("--inspect"));
  if (flag !== undefined || inspectorUrl() !== undefined) {
    throw new Denied("program_debuggable", "the inspector is open: start this program with its launcher");
  }
  const acted = ACTED.find((name) => process.env[name] !== undefined);
  if (acted !== undefined) {
    throw new Denied("program_debuggable", `${acted} has acted on this program: start it with its launcher`);
  }
}

function dropVariables(isCaller: boolean): void {
  for (const name of Object.keys(process.env)) {
    const dropped = isCaller ? DROPPED.some((prefix) => name.startsWith(prefix)) : !isAllowedVariable(name);
    if (dropped) delete process.env[name];
  }
}

function require0(result: number, what: string): void {
  if (result === 0) return;
  throw new Denied("program_not_hardened", `the kernel refused "${what}" (${nameErrno(lastErrno())})`);
}

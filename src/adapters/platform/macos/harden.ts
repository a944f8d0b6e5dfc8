import { url as inspectorUrl } from "node:inspector";
import { Denied } from "../../../kernel/failure.ts";
import { loadLibraries } from "./libraries.ts";
import { readProcess } from "./process.ts";

const RLIMIT_CORE = 4;
const PT_DENY_ATTACH = 31;

/** The macOS counterpart of the Linux hardening: no tracer now or later, no cores, no inspector. */
export function hardenMacos(): void {
  if (readProcess(process.pid)?.traced !== false) throw new Denied("program_traced", "a debugger is attached");
  if (!process.execArgv.includes("--disable-sigusr1") || inspectorUrl() !== undefined) {
    throw new Denied("program_debuggable", "the inspector could be opened: start this program with its launcher");
  }
  const lib = loadLibraries();
  process.umask(0o077);
  if (lib.setrlimit(RLIMIT_CORE, Buffer.alloc(16)) !== 0) {
    throw new Denied("program_not_hardened", "the kernel refused to turn core files off");
  }
  if (lib.ptrace(PT_DENY_ATTACH, 0, null, 0) !== 0) {
    throw new Denied("program_not_hardened", "the kernel refused to keep debuggers out");
  }
}

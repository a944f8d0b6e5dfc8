import { closeSync } from "node:fs";
import { loadLibc } from "./libc.ts";

/**
 * Tells the service manager how this process fares (sd_notify): datagrams to the socket that NOTIFY_SOCKET names. The
 * variables are taken out of the environment, so that no child speaks in our name.
 */
export interface ServiceManager {
  /** Lines such as `READY=1`. False when they did not go out: a full queue must not hold up those we serve. */
  notify(...lines: readonly string[]): boolean;
  /** How often it wants to hear from us; null where it does not. */
  readonly watchdogMs: number | null;
}

const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 0o2000002;
const MSG_DONTWAIT_NOSIGNAL = 0x4040;
const PATH_BYTES = 107;

/** Null where no service manager listens. */
export function findServiceManager(environment: NodeJS.ProcessEnv): ServiceManager | null {
  const { NOTIFY_SOCKET: path, WATCHDOG_USEC: interval, WATCHDOG_PID: pid } = environment;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete environment[name];
  if (path === undefined || !/^[/@]/.test(path) || Buffer.byteLength(path) > PATH_BYTES) return null;
  const address = addressOf(path);
  const usec = Number(interval);
  const watched = Number.isSafeInteger(usec) && usec > 0 && (pid === undefined || Number(pid) === process.pid);
  return {
    notify: (...lines) => sendTo(address, Buffer.from(lines.join("\n"), "utf8")),
    watchdogMs: watched ? Math.floor(usec / 1_000) : null,
  };
}

/** A leading `@` stands for the zero byte of a name that is not in the file system. */
function addressOf(path: string): Buffer {
  const name = Buffer.from(path, "utf8");
  if (name[0] === 0x40) name[0] = 0;
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, name]);
}

/** A manager that does not listen any more must not bring us down. */
function sendTo(address: Buffer, bytes: Buffer): boolean {
  const libc = loadLibc();
  const socket = libc.socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  if (socket < 0) return false;
  try {
    if (libc.connect(socket, address, address.length) < 0) return false;
    return libc.send(socket, bytes, bytes.length, MSG_DONTWAIT_NOSIGNAL) === bytes.length;
  } finally {
    closeSync(socket);
  }
}

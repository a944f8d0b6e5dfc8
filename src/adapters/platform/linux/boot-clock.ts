import { readFileSync } from "node:fs";
import { Fault } from "../../../kernel/failure.ts";
import { lastErrno, loadLibc, nameErrno } from "./libc.ts";

const CLOCK_BOOTTIME = 7;
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/**
 * Milliseconds since boot with suspend counted, which Node's own clocks leave out. The kernel is asked once in a millisecond
 * that the machine is awake: a busy gateway asks a dozen times as often.
 */
export function readBootMs(): number {
  const awakeMs = Math.floor(performance.now());
  if (awakeMs !== askedMs) {
    bootMs = askKernel();
    askedMs = awakeMs;
  }
  return bootMs;
}

let askedMs = Number.NaN;
let bootMs = Number.NaN;

function askKernel(): number {
  if (loadLibc().clockGettime(CLOCK_BOOTTIME, time) !== 0) {
    throw new Fault(`CLOCK_BOOTTIME cannot be read: ${nameErrno(lastErrno())}`);
  }
  // Seconds since a boot and nanoseconds of a second fit 48 bits, which need no big integers.
  return time.readUIntLE(0, 6) * 1_000 + Math.floor(time.readUIntLE(8, 6) / 1_000_000);
}

const time = Buffer.alloc(16);

export function readBootId(): string {
  return readFileSync(BOOT_ID, "utf8").trim();
}

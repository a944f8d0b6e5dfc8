import { readFileSync } from "node:fs";
import { Fault } from "../../../kernel/failure.ts";
import { lastErrno, loadLibc, nameErrno } from "./libc.ts";

const CLOCK_BOOTTIME = 7;
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** Milliseconds since boot with suspend counted, which Node's own clocks leave out. */
export function readBootMs(): number {
  const time = Buffer.alloc(16);
  if (loadLibc().clockGettime(CLOCK_BOOTTIME, time) !== 0) {
    throw new Fault(`CLOCK_BOOTTIME cannot be read: ${nameErrno(lastErrno())}`);
  }
  return Number(time.readBigInt64LE(0)) * 1_000 + Math.floor(Number(time.readBigInt64LE(8)) / 1_000_000);
}

export function readBootId(): string {
  return readFileSync(BOOT_ID, "utf8").trim();
}

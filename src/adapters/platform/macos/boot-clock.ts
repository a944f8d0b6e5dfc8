import { Fault } from "../../../kernel/failure.ts";
import { loadLibraries } from "./libraries.ts";

// On macOS this clock goes on while the machine sleeps; CLOCK_UPTIME_RAW would not.
const CLOCK_MONOTONIC = 6;
const UUID_BYTES = 64;

export function readBootMsMacos(): number {
  const time = Buffer.alloc(16);
  if (loadLibraries().clockGettime(CLOCK_MONOTONIC, time) !== 0) throw new Fault("CLOCK_MONOTONIC cannot be read");
  return Number(time.readBigInt64LE(0)) * 1_000 + Math.floor(Number(time.readBigInt64LE(8)) / 1_000_000);
}

export function readBootIdMacos(): string {
  const value = Buffer.alloc(UUID_BYTES);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(value.length));
  if (loadLibraries().sysctlbyname("kern.bootsessionuuid", value, size, null, 0) !== 0) {
    throw new Fault("kern.bootsessionuuid cannot be read");
  }
  return value.toString("utf8", 0, value.indexOf(0));
}

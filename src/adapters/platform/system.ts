import { randomBytes } from "node:crypto";
import type { Clock, Random, Sleep } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { readBootId, readBootMs } from "./linux/boot-clock.ts";
import { readBootIdMacos, readBootMsMacos } from "./macos/boot-clock.ts";

/** The machine's own time. The boot id is read once: it cannot change while a process lives. */
export function createClock(platform: NodeJS.Platform = process.platform): Clock {
  const [bootMs, bootId] = bootTimeOf(platform);
  return { wallMs: () => Date.now(), bootMs, bootId: () => bootId };
}

const POOL_BYTES = 8_192;
let pool = Buffer.alloc(0);
let drawn = 0;

/** Small draws come out of one large one: a call needs a dozen identifiers. What was handed out is wiped from the pool. */
export const systemRandom: Random = {
  bytes(length) {
    if (length > POOL_BYTES / 16) return randomBytes(length);
    if (pool.length - drawn < length) {
      pool = randomBytes(POOL_BYTES);
      drawn = 0;
    }
    const bytes = Buffer.allocUnsafe(length);
    // Byte by byte: for a few of them that is a fraction of what calls into native code cost.
    for (let at = 0; at < length; at++, drawn++) {
      bytes[at] = pool[drawn] ?? 0;
      pool[drawn] = 0;
    }
    return bytes;
  },
};

export const systemSleep: Sleep = {
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    });
  },
};

function bootTimeOf(platform: NodeJS.Platform): readonly [() => number, string] {
  switch (platform) {
    case "linux":
      return [readBootMs, readBootId()];
    case "darwin":
      return [readBootMsMacos, readBootIdMacos()];
    default:
      throw new Denied("platform_unsupported", `${platform} has no clock here that counts suspend; use Linux or macOS`);
  }
}

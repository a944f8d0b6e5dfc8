import { statfsSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";

/** Whether a disk has only its reserve left, asked of the kernel now and then. */
export function createDiskWatch(folder: string, clock: Pick<Clock, "bootMs">): { low(): boolean } {
  let lookedMs = Number.NEGATIVE_INFINITY;
  let low = false;
  return {
    low() {
      const nowMs = clock.bootMs();
      if (nowMs - lookedMs < defaults.diskLookMs) return low;
      lookedMs = nowMs;
      const { bavail, blocks, bsize } = statfsSync(folder);
      low = bavail * bsize < Math.min(defaults.diskReserveBytes, (blocks * bsize) / defaults.diskReservePart);
      return low;
    },
  };
}

import { statfsSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";

/** Whether a disk has only its reserve left, asked of the kernel now and then; of so much more that is to be written, at once. */
export function createDiskWatch(folder: string, clock: Pick<Clock, "bootMs">): { low(moreBytes?: number): boolean } {
  let lookedMs = Number.NEGATIVE_INFINITY;
  let low = false;
  return {
    low(moreBytes = 0) {
      const nowMs = clock.bootMs();
      if (moreBytes === 0 && nowMs - lookedMs < defaults.diskLookMs) return low;
      lookedMs = nowMs;
      const { bavail, blocks, bsize } = statfsSync(folder);
      const reserve = Math.min(defaults.diskReserveBytes, (blocks * bsize) / defaults.diskReservePart);
      low = bavail * bsize < reserve;
      return bavail * bsize - moreBytes < reserve;
    },
  };
}

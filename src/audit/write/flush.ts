import type { LogFile } from "../files.ts";
import type { Scheduler } from "../scheduler.ts";

/** How much one flush moves the average that decides between inline and thread pool. */
const FLUSH_WEIGHT = 0.1;
/** A longer one counts as so many times the limit: one hiccup of the disk is soon forgotten. */
const MOST_LIMITS = 4;
/** While the disk is slow, one flush in so many runs inline, to learn whether it still is. */
const LOOK_EVERY = 32;

/**
 * Makes what was written durable: inline while flushes are short, since the thread pool costs more than it saves, and
 * there when the disk is slow. Undefined when it is done already. Only what ran inline tells how long the disk takes: on
 * its way through the pool a flush also waits for two threads to wake, which may take longer than the flush itself.
 */
export function startFlushing(
  scheduler: Pick<Scheduler, "nowMs">,
  inlineFlushMs: number,
): (file: LogFile) => Promise<void> | undefined {
  let averageMs = 0;
  let unseen = 0;
  return (file) => {
    if (averageMs >= inlineFlushMs && (inlineFlushMs === 0 || ++unseen < LOOK_EVERY)) return file.sync();
    unseen = 0;
    const began = scheduler.nowMs();
    file.syncInline();
    const tookMs = Math.min(scheduler.nowMs() - began, MOST_LIMITS * inlineFlushMs);
    averageMs += (tookMs - averageMs) * FLUSH_WEIGHT;
    return undefined;
  };
}

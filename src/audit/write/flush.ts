import type { LogFile } from "../files.ts";
import type { Scheduler } from "../scheduler.ts";

/** How much one flush moves the average that decides between inline and thread pool. */
const FLUSH_WEIGHT = 0.1;

/**
 * Makes what was written durable: inline while flushes are short, since the thread pool costs more than it saves, and
 * there when the disk is slow. Undefined when it is done already.
 */
export function startFlushing(
  scheduler: Pick<Scheduler, "nowMs">,
  inlineFlushMs: number,
): (file: LogFile) => Promise<void> | undefined {
  let averageMs = 0;
  const note = (began: number): void => {
    averageMs += (scheduler.nowMs() - began - averageMs) * FLUSH_WEIGHT;
  };
  return (file) => {
    const began = scheduler.nowMs();
    if (averageMs < inlineFlushMs) {
      file.syncInline();
      note(began);
      return undefined;
    }
    return file.sync().then(() => note(began));
  };
}

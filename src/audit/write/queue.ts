import { Denied } from "../../kernel/failure.ts";
import type { LogLimits } from "../audit-log.ts";
import type { NewEvent } from "../event.ts";
import { addToBatch, type Batch, clearBatch, makeBatch, type Sequences, wipeBatch } from "./batch.ts";

/** Events that wait for a frame, already as bytes: what a caller changes afterwards is not recorded. */
export interface Queue {
  /** The batch that holds all of `events`. Throws a Denied when they are too large or too many wait. */
  add(events: readonly NewEvent[]): Batch;
  take(): Batch | undefined;
  isEmpty(): boolean;
  /** Whether more may wait: `add` takes nothing otherwise. */
  hasRoom(): boolean;
  /** For a batch that was taken and whose waiters have been answered. */
  release(batch: Batch): void;
  /** Tells everyone who waits, those of a batch that was taken too, and wipes their records. */
  reject(reason: Denied, taken: Batch | null): void;
}

/** More than the two in use at a time need not be kept. */
const SPARE_BATCHES = 2;

export function startQueue(limits: Pick<LogLimits, "queueBytes" | "frameBytes" | "recordBytes">): Queue {
  const sequences: Sequences = { activity: 0, previews: 0, sessions: 0, gateway: 0 };
  const waiting: Batch[] = [];
  const spare: Batch[] = [];
  let queuedBytes = 0;

  function addToNew(events: readonly NewEvent[]): Batch {
    const batch = spare.pop() ?? makeBatch(limits.frameBytes);
    let added = false;
    try {
      added = addToBatch(batch, events, sequences, limits.recordBytes);
    } finally {
      if (!added) spare.push(batch);
    }
    if (!added) throw new Denied("log_event_too_large", "The events of one append are larger than a frame may be.");
    waiting.push(batch);
    queuedBytes += batch.length;
    return batch;
  }

  const hasRoom = (): boolean => queuedBytes <= limits.queueBytes;

  return {
    hasRoom,
    add(events) {
      if (!hasRoom()) {
        const message = "More events wait for the disk than the log may hold; nothing was recorded.";
        throw new Denied("log_backlogged", message, { retryAllowed: true });
      }
      const last = waiting.at(-1);
      if (last === undefined) return addToNew(events);
      const before = last.length;
      if (!addToBatch(last, events, sequences, limits.recordBytes)) return addToNew(events);
      queuedBytes += last.length - before;
      return last;
    },
    take: () => waiting.shift(),
    isEmpty: () => waiting.length === 0,
    release(batch) {
      queuedBytes -= batch.length;
      clearBatch(batch);
      if (spare.length < SPARE_BATCHES) spare.push(batch);
    },
    reject(reason, taken) {
      for (const batch of taken === null ? waiting : [taken, ...waiting]) {
        batch.waiting.reject(reason);
        wipeBatch(batch);
        clearBatch(batch);
      }
      waiting.length = 0;
    },
  };
}

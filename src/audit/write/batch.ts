import { Denied } from "../../kernel/failure.ts";
import { encodeEvent } from "../codec.ts";
import { type Journal, kindOf, type NewEvent } from "../event.ts";

/** Records on their way into one frame: `count ‖ {length, record}…`, in a buffer that is wiped when they are sealed. */
export interface Batch {
  readonly bytes: Buffer;
  length: number;
  count: number;
  readonly waiters: Waiter[];
}

export interface Waiter {
  readonly resolve: (frame: number, at: number) => void;
  readonly reject: (error: Error) => void;
}

const COUNT_BYTES = 4;
const LENGTH_BYTES = 4;
// UTF-8 needs at most three bytes for a UTF-16 code unit.
const MAX_BYTES_A_UNIT = 3;

export function makeBatch(capacity: number): Batch {
  return { bytes: Buffer.alloc(capacity), length: COUNT_BYTES, count: 0, waiters: [] };
}

export type Sequences = Record<Journal, number>;

/** Adds all of `events` or none; false when they may not fit in what is left of the batch. */
export function addToBatch(
  batch: Batch,
  events: readonly NewEvent[],
  sequences: Sequences,
  recordBytes: number,
): boolean {
  const start = batch.length;
  const numbers = { ...sequences };
  let at = start;
  try {
    for (const event of events) {
      const journal = kindOf(event.event_type)?.journal ?? "gateway";
      const text = encodeEvent(event, numbers[journal] + 1);
      if (text.length > recordBytes) {
        throw new Denied(
          "log_event_too_large",
          `a ${event.event_type} event of ${text.length} characters is over the limit`,
        );
      }
      if (at + LENGTH_BYTES + text.length * MAX_BYTES_A_UNIT > batch.bytes.length) {
        batch.bytes.fill(0, start, at);
        return false;
      }
      const length = batch.bytes.write(text, at + LENGTH_BYTES, "utf8");
      batch.bytes.writeUInt32LE(length, at);
      numbers[journal]++;
      at += LENGTH_BYTES + length;
    }
  } catch (error) {
    batch.bytes.fill(0, start, at);
    throw error;
  }
  Object.assign(sequences, numbers);
  batch.length = at;
  batch.count += events.length;
  batch.bytes.writeUInt32LE(batch.count, 0);
  return true;
}

export function wipeBatch(batch: Batch): void {
  batch.bytes.fill(0, 0, batch.length);
}

/** For use again; the records in it have been wiped. */
export function clearBatch(batch: Batch): void {
  batch.length = COUNT_BYTES;
  batch.count = 0;
  batch.waiters.length = 0;
}

const SMALLEST = 512;
const PAGE = 4_096;

/** 512, 1024, 2048, 4096, then multiples of 4096: the size of a frame says little about what is in it. */
export function paddedLength(length: number): number {
  if (length > PAGE) return Math.ceil(length / PAGE) * PAGE;
  let padded = SMALLEST;
  while (padded < length) padded *= 2;
  return padded;
}

import { Denied } from "../../kernel/failure.ts";
import { encodeEvent } from "../codec.ts";
import { type Journal, kindOf, type NewEvent } from "../event.ts";
import type { IntentReceipt } from "../receipt.ts";

/**
 * Records on their way into one frame: `count ‖ {length, record}…`, in a buffer that is wiped when they are sealed.
 * All who wait for the frame share one promise.
 */
export interface Batch {
  readonly bytes: Buffer;
  length: number;
  count: number;
  eventIds: string[];
  waiting: PromiseWithResolvers<IntentReceipt>;
}

const COUNT_BYTES = 4;
const LENGTH_BYTES = 4;
// UTF-8 needs at most three bytes for a UTF-16 code unit.
const MAX_BYTES_A_UNIT = 3;

export function makeBatch(capacity: number): Batch {
  return {
    bytes: Buffer.alloc(capacity),
    length: COUNT_BYTES,
    count: 0,
    eventIds: [],
    waiting: Promise.withResolvers<IntentReceipt>(),
  };
}

export type Sequences = Record<Journal, number>;

const PREFIX = Buffer.from('{"sequence":', "latin1");
const SEQUENCE_DIGITS = 16;
const COMMA = 0x2c;

/** Adds all of `events` or none; false when they may not fit in what is left of the batch. */
export function addToBatch(
  batch: Batch,
  events: readonly NewEvent[],
  sequences: Sequences,
  recordBytes: number,
): boolean {
  const { bytes, length: start } = batch;
  const before = events.length === 1 ? null : { ...sequences };
  let at = start;
  let whole = false;
  try {
    for (const event of events) {
      const text = encodeEvent(event);
      if (text.length > recordBytes) {
        const message = `A ${event.event_type} event of ${text.length} characters is over the limit.`;
        throw new Denied("log_event_too_large", message);
      }
      const room = LENGTH_BYTES + PREFIX.length + SEQUENCE_DIGITS + text.length * MAX_BYTES_A_UNIT;
      if (at + room > bytes.length) return false;
      at = writeRecord(bytes, at, text, ++sequences[kindOf(event.event_type)?.journal ?? "gateway"]);
    }
    whole = true;
  } finally {
    if (!whole) {
      bytes.fill(0, start, at);
      if (before !== null) Object.assign(sequences, before);
    }
  }
  batch.length = at;
  batch.count += events.length;
  for (const event of events) batch.eventIds.push(event.event_id);
  bytes.writeUInt32LE(batch.count, 0);
  return true;
}

/** `length ‖ {"sequence":N,…}`: the sequence goes before the text, whose opening brace becomes the comma. */
function writeRecord(bytes: Buffer, start: number, text: string, sequence: number): number {
  let at = start + LENGTH_BYTES;
  at += PREFIX.copy(bytes, at);
  at += bytes.write(String(sequence), at, "latin1");
  const brace = at;
  at += bytes.write(text, at, "utf8");
  bytes[brace] = COMMA;
  bytes.writeUInt32LE(at - start - LENGTH_BYTES, start);
  return at;
}

export function wipeBatch(batch: Batch): void {
  batch.bytes.fill(0, 0, batch.length);
}

/** For use again; the records in it have been wiped. */
export function clearBatch(batch: Batch): void {
  batch.length = COUNT_BYTES;
  batch.count = 0;
  batch.eventIds = [];
  batch.waiting = Promise.withResolvers<IntentReceipt>();
}

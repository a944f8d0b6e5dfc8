import { Denied } from "../../kernel/failure.ts";
import { encodeEvent, knownKind } from "../codec.ts";
import { eventsIn, type Journal, type NewEvent } from "../event.ts";
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
const ZERO = 0x30;

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
      const kind = knownKind(event);
      const text = encodeEvent(event, kind);
      if (text.length > recordBytes) {
        const message = `A ${event.event_type} event of ${text.length} characters is over the limit.`;
        throw new Denied("log_event_too_large", message);
      }
      const room = LENGTH_BYTES + PREFIX.length + SEQUENCE_DIGITS + text.length * MAX_BYTES_A_UNIT;
      if (at + room > bytes.length) return false;
      at = writeRecord(bytes, at, text, sequences[kind.journal] + 1);
      sequences[kind.journal] += eventsIn(event);
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
  const brace = writeSequence(bytes, start + LENGTH_BYTES, sequence);
  const end = brace + bytes.write(text, brace, "utf8");
  bytes[brace] = COMMA;
  bytes.writeUInt32LE(end - start - LENGTH_BYTES, start);
  return end;
}

/** Byte by byte: for a dozen of them that is a fraction of what a call into native code costs. */
function writeSequence(bytes: Buffer, start: number, sequence: number): number {
  let at = start;
  for (let index = 0; index < PREFIX.length; index++) bytes[at++] = PREFIX[index] ?? 0;
  let digits = 1;
  for (let bound = 10; sequence >= bound; bound *= 10) digits++;
  let rest = sequence;
  for (let place = at + digits - 1; place >= at; place--) {
    bytes[place] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return at + digits;
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

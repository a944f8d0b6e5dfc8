import { isAscii } from "node:buffer";
import { createDecipheriv, type KeyObject } from "node:crypto";
import { join } from "node:path";
import type { JsonObject } from "../../kernel/json.ts";
import { decodeRecord } from "../codec.ts";
import type { AuditEvent, Journal } from "../event.ts";
import type { ReadFile } from "../files.ts";
import { decodeOpen, type OpenReason } from "../frame/bodies.ts";
import { type Cursor, isLinked, openCursor } from "../frame/cursor.ts";
import { DATA_FLAG_REDO, FRAME_TYPES, HEADER_BYTES, LINK_BYTES, segmentName } from "../frame/layout.ts";
import { type FrameKeys, startFrameKeys } from "../keys/seed.ts";
import { openIfThere } from "../node-files.ts";
import { expand } from "./expand.ts";
import { folderWith, type ReadFrom, segmentsOf } from "./place.ts";
import { findSeed } from "./seeds.ts";

/** What a reader meets, in the order of the log. What it cannot read it says, and goes on. */
export type LogItem =
  | {
      readonly kind: "record";
      readonly segment: number;
      readonly frame: number;
      /** Of the record in its frame: the events of one record share it. */
      readonly index: number;
      readonly journal: Journal;
      readonly event: AuditEvent;
    }
  | {
      readonly kind: "newer";
      readonly segment: number;
      readonly frame: number;
      readonly index: number;
      readonly event: JsonObject;
    }
  | {
      readonly kind: "opened";
      readonly segment: number;
      readonly frame: number;
      readonly reason: OpenReason;
      readonly timeSeconds: number;
    }
  | { readonly kind: "unreadable"; readonly segment: number; readonly frame: number; readonly detail: string };

/**
 * Reads a log with a recipient's key, one key derivation and one decryption a frame. The tag of a frame covers its
 * number and the link before it, so a frame that opens is whole and in its place; `verify` is about the rest.
 */
export interface LogReader {
  /** The items of the next frame that has any; undefined at the present end. Asking again later follows the log. */
  next(): readonly LogItem[] | undefined;
  /** How far it has read; undefined before the first frame. */
  at(): ReadFrom | undefined;
  close(): void;
  /** All items there are now. */
  [Symbol.asyncIterator](): AsyncGenerator<LogItem>;
}

const TAG_BYTES = 16;
const ZERO_NONCE = Buffer.alloc(12);
const LENGTH_BYTES = 4;
const FRAMES_A_TURN = 256;

interface OpenSegment {
  readonly folder: string;
  readonly number: number;
  readonly file: ReadFile;
  readonly cursor: Cursor;
  keys: FrameKeys | undefined;
  /** The key of a frame that did not open yet, because its writer is not done with it. */
  pending: KeyObject | undefined;
}

/** A log may lie in several folders, archives first and its own last. With `wanted`, only the frames of these numbers are opened. */
export function openReader(
  log: string | readonly string[],
  readingKey: KeyObject,
  from?: ReadFrom,
  wanted?: (frame: number) => boolean,
): LogReader {
  const folders = typeof log === "string" ? [log] : log;
  let atSegment = from?.segment ?? folders.flatMap(segmentsOf).sort((a, b) => a - b)[0] ?? 1;
  let current: OpenSegment | undefined;
  let lastFrame = 0;
  /** Where the whole frames of the segment before ended, for the next OPEN to confirm. */
  let endedAt: number | undefined;

  const isPassed = ({ number, cursor }: OpenSegment): boolean =>
    (number === from?.segment && cursor.offset < from.offset) || wanted?.(cursor.header.frame) === false;

  const leave = (): void => {
    if (current !== undefined) lastFrame = current.cursor.header.frame;
    current?.keys?.wipe();
    current?.file.close();
    current = undefined;
  };

  /** The first segment from here on that is there. An archive may have moved this one away, also since the last look. */
  const nextThere = (): number | undefined =>
    folders
      .flatMap(segmentsOf)
      .filter((segment) => segment >= atSegment)
      .sort((a, b) => a - b)[0];

  /** Nothing where there is no more yet. What is missing before what is there is told, and passed. */
  const pass = (): readonly LogItem[] | undefined => {
    const segment = atSegment;
    const there = nextThere();
    if (there === undefined) return undefined;
    if (there === segment) return [];
    atSegment = there;
    endedAt = undefined;
    const which = there === segment + 1 ? `segment ${segment} is` : `segments ${segment} to ${there - 1} are`;
    return [
      { kind: "unreadable", segment, frame: lastFrame, detail: `${which} not here: moved to an archive, or lost` },
    ];
  };

  /** The items of one frame; undefined where no whole frame follows, or none yet. */
  const step = (segment: OpenSegment): readonly LogItem[] | undefined => {
    const items = segment.cursor.next() === "frame" ? readFrame(segment, readingKey, endedAt, isPassed) : undefined;
    if (items === undefined) segment.cursor.again();
    return items;
  };

  const next = (): readonly LogItem[] | undefined => {
    for (;;) {
      if (current === undefined) {
        const folder = folderWith(folders, atSegment);
        const file = folder === undefined ? undefined : openIfThere(join(folder, segmentName(atSegment)));
        if (folder === undefined || file === undefined) {
          const missing = pass();
          if (missing?.length === 0) continue;
          return missing;
        }
        current = enter(folder, atSegment, file);
        if (current === undefined) {
          return [{ kind: "unreadable", segment: atSegment++, frame: 0, detail: "not a segment of a log" }];
        }
      }
      const items = step(current);
      if (items === undefined) {
        // The writer may have gone on in this file before it turned to the next: look once more, then move.
        atSegment = current.number + 1;
        if (folderWith(folders, atSegment) === undefined && nextThere() === undefined) return undefined;
        const last = step(current);
        if (last === undefined) {
          endedAt = current.cursor.offset;
          leave();
        } else if (last.length > 0) return last;
      } else if (items.length > 0) return items;
    }
  };

  return {
    next,
    at: () => (current === undefined ? undefined : { segment: current.number, offset: current.cursor.offset }),
    close: leave,
    async *[Symbol.asyncIterator]() {
      for (let frames = 0; ; frames++) {
        const items = next();
        if (items === undefined) return;
        yield* items;
        if (frames % FRAMES_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

function enter(folder: string, number: number, file: ReadFile): OpenSegment | undefined {
  const cursor = openCursor(file);
  if (cursor !== undefined) return { folder, number, file, cursor, keys: undefined, pending: undefined };
  file.close();
  return undefined;
}

function readFrame(
  segment: OpenSegment,
  readingKey: KeyObject,
  endedAt: number | undefined,
  isPassed: (segment: OpenSegment) => boolean,
): readonly LogItem[] | undefined {
  const { cursor } = segment;
  const { frame, type } = cursor.header;
  if (type === FRAME_TYPES.data && isPassed(segment)) {
    segment.keys?.skip();
    return [];
  }
  // The tag of a DATA frame says whether it is whole; for the others, and without a key, the link does.
  if (type === FRAME_TYPES.data && segment.keys !== undefined) return readData(segment, segment.keys);
  if (!isLinked(cursor)) return undefined;
  if (type !== FRAME_TYPES.open) return [];
  const start = cursor.at + HEADER_BYTES;
  const open = decodeOpen(cursor.buffer.subarray(start, start + cursor.header.bodyLength));
  if (open === undefined) return [unreadable(segment, "the OPEN frame cannot be read")];
  const { reason, timeSeconds } = open;
  const items: LogItem[] = [];
  if (endedAt !== undefined && open.previousLength !== endedAt) {
    items.push(unreadable(segment, "frames of the segment before are missing or do not open"));
  }
  items.push({ kind: "opened", segment: segment.number, frame, reason, timeSeconds });
  const seed = findSeed(segment.folder, open, readingKey);
  if (seed === undefined) items.push(unreadable(segment, "the segment is not sealed for this key"));
  else segment.keys = startFrameKeys(seed);
  return items;
}

function unreadable(segment: OpenSegment, detail: string): LogItem {
  return { kind: "unreadable", segment: segment.number, frame: segment.cursor.header.frame, detail };
}

/** Undefined for a frame that is not whole: torn, or still being written. */
function readData(segment: OpenSegment, keys: FrameKeys): readonly LogItem[] | undefined {
  const { cursor } = segment;
  const key = segment.pending ?? keys.next();
  const plaintext = openFrame(cursor, key);
  if (plaintext === undefined && !isLinked(cursor)) {
    segment.pending = key;
    return undefined;
  }
  segment.pending = undefined;
  if (plaintext === undefined)
    return [unreadable(segment, "the frame does not open: it was changed, or frames before it are missing")];
  return readRecords(segment, plaintext);
}

function readRecords(segment: OpenSegment, plaintext: Buffer): readonly LogItem[] {
  const items: LogItem[] = [];
  const { number } = segment;
  const { frame } = segment.cursor.header;
  const count = plaintext.readUInt32LE(0);
  const texts = cutTexts(plaintext, count);
  for (const [index, text] of texts.entries()) {
    const decoded = decodeRecord(text);
    if (decoded.kind === "event") {
      const { journal } = decoded;
      for (const event of expand(decoded.event)) {
        items.push({ kind: "record", segment: number, frame, index, journal, event });
      }
    } else if (decoded.kind === "newer") {
      items.push({ kind: "newer", segment: number, frame, index, event: decoded.event });
    } else items.push(unreadable(segment, `record ${index}: ${decoded.detail}`));
  }
  if (texts.length < count) items.push(unreadable(segment, `record ${texts.length} runs out of its frame`));
  return items;
}

/** The texts of the records, up to the first that does not fit. Takes the plaintext: the lengths in it are blanked. */
function cutTexts(plaintext: Buffer, count: number): string[] {
  const ends: number[] = [];
  let end = LENGTH_BYTES;
  plaintext.fill(0, 0, LENGTH_BYTES);
  while (ends.length < count && end + LENGTH_BYTES <= plaintext.length) {
    const length = plaintext.readUInt32LE(end);
    if (end + LENGTH_BYTES + length > plaintext.length) break;
    plaintext.writeUInt32LE(0, end);
    end += LENGTH_BYTES + length;
    ends.push(end);
  }
  // Where every byte is a character, one text for the whole frame is cut up: cheaper than decoding a text a record.
  const whole =
    ends.length > 1 && isAscii(plaintext.subarray(0, end)) ? plaintext.toString("latin1", 0, end) : undefined;
  let start = LENGTH_BYTES;
  return ends.map((at) => {
    const from = start + LENGTH_BYTES;
    start = at;
    return whole === undefined ? plaintext.toString("utf8", from, at) : whole.substring(from, at);
  });
}

/** header ‖ link_prev, and the tag: copied here for each frame, which costs less than a buffer or a view for each. */
const ADDITIONAL = Buffer.alloc(HEADER_BYTES + LINK_BYTES);
const TAG = Buffer.alloc(TAG_BYTES);

function openFrame(cursor: Cursor, key: KeyObject): Buffer | undefined {
  const { buffer, at, header } = cursor;
  const start = at + HEADER_BYTES;
  let end = start + header.bodyLength;
  // The section for the gateway itself stands last, its length after it.
  if ((header.flags & DATA_FLAG_REDO) !== 0)
    end -=
      header.bodyLength < LENGTH_BYTES ? header.bodyLength : LENGTH_BYTES + buffer.readUInt32LE(end - LENGTH_BYTES);
  if (end - start < TAG_BYTES + LENGTH_BYTES) return undefined;
  // On disk the two stand the other way round.
  buffer.copy(ADDITIONAL, 0, at, start);
  buffer.copy(ADDITIONAL, HEADER_BYTES, at - LINK_BYTES, at);
  buffer.copy(TAG, 0, end - TAG_BYTES, end);
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, ZERO_NONCE, { authTagLength: TAG_BYTES });
    decipher.setAAD(ADDITIONAL);
    decipher.setAuthTag(TAG);
    const plaintext = decipher.update(buffer.subarray(start, end - TAG_BYTES));
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

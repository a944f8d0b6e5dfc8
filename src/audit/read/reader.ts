import { createDecipheriv, type KeyObject } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../kernel/json.ts";
import { decodeRecord } from "../codec.ts";
import type { AuditEvent } from "../event.ts";
import type { ReadFile } from "../files.ts";
import { decodeOpen, type OpenReason } from "../frame/bodies.ts";
import { type Cursor, openCursor } from "../frame/cursor.ts";
import { DATA_FLAG_REDO, FRAME_TYPES, HEADER_BYTES, LINK_BYTES, segmentName, segmentOf } from "../frame/layout.ts";
import { type FrameKeys, startFrameKeys } from "../keys/seed.ts";
import { openReadFile } from "../node-files.ts";
import { findSeed } from "./seeds.ts";

/** What a reader meets, in the order of the log. What it cannot read it says, and goes on. */
export type LogItem =
  | {
      readonly kind: "record";
      readonly segment: number;
      readonly frame: number;
      readonly index: number;
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
  close(): void;
  /** All items there are now. */
  [Symbol.asyncIterator](): AsyncGenerator<LogItem>;
}

const TAG_BYTES = 16;
const ZERO_NONCE = Buffer.alloc(12);
const LENGTH_BYTES = 4;
const FRAMES_A_TURN = 256;

interface OpenSegment {
  readonly number: number;
  readonly file: ReadFile;
  readonly cursor: Cursor;
  keys: FrameKeys | undefined;
}

export function openReader(folder: string, readingKey: KeyObject): LogReader {
  const first = readdirSync(folder)
    .map(segmentOf)
    .filter((number) => number !== undefined)
    .sort((a, b) => a - b)[0];
  let wanted = first ?? 1;
  let current: OpenSegment | undefined;

  const leave = (): void => {
    current?.keys?.wipe();
    current?.file.close();
    current = undefined;
  };

  const next = (): readonly LogItem[] | undefined => {
    for (;;) {
      if (current === undefined) {
        if (!existsSync(join(folder, segmentName(wanted)))) return undefined;
        const entered = enter(folder, wanted);
        if (entered === undefined) {
          return [{ kind: "unreadable", segment: wanted++, frame: 0, detail: "not a segment of a log" }];
        }
        current = entered;
      }
      const { cursor, number } = current;
      if (cursor.next() !== "frame") {
        // The writer may have gone on in this file before it turned to the next: look once more, then move.
        const turned = existsSync(join(folder, segmentName(number + 1)));
        cursor.again();
        if (!turned) return undefined;
        if (cursor.next() !== "frame") {
          wanted = number + 1;
          leave();
          continue;
        }
      }
      const items = readFrame(folder, current, readingKey);
      if (items.length > 0) return items;
    }
  };

  return {
    next,
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

function enter(folder: string, number: number): OpenSegment | undefined {
  const file = openReadFile(join(folder, segmentName(number)));
  const cursor = openCursor(file);
  if (cursor !== undefined) return { number, file, cursor, keys: undefined };
  file.close();
  return undefined;
}

function readFrame(folder: string, segment: OpenSegment, readingKey: KeyObject): readonly LogItem[] {
  const { cursor } = segment;
  const { frame, type } = cursor.header;
  if (type === FRAME_TYPES.data) return readData(segment);
  if (type !== FRAME_TYPES.open) return [];
  const start = cursor.at + HEADER_BYTES;
  const open = decodeOpen(cursor.buffer.subarray(start, start + cursor.header.bodyLength));
  if (open === undefined) return [unreadable(segment, "the OPEN frame cannot be read")];
  const seed = findSeed(folder, open, readingKey);
  if (seed !== undefined) segment.keys = startFrameKeys(seed);
  const opened: LogItem = {
    kind: "opened",
    segment: segment.number,
    frame,
    reason: open.reason,
    timeSeconds: open.timeSeconds,
  };
  return seed === undefined ? [opened, unreadable(segment, "the segment is not sealed for this key")] : [opened];
}

function unreadable(segment: OpenSegment, detail: string): LogItem {
  return { kind: "unreadable", segment: segment.number, frame: segment.cursor.header.frame, detail };
}

function readData(segment: OpenSegment): readonly LogItem[] {
  const { cursor, keys } = segment;
  if (keys === undefined) return [];
  const plaintext = openFrame(cursor, keys);
  if (plaintext === undefined)
    return [unreadable(segment, "the frame does not open: it was changed, or frames before it are missing")];
  const items: LogItem[] = [];
  const place = { segment: segment.number, frame: cursor.header.frame };
  const count = plaintext.readUInt32LE(0);
  let at = LENGTH_BYTES;
  for (let index = 0; index < count; index++) {
    const length = at + LENGTH_BYTES <= plaintext.length ? plaintext.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    at += LENGTH_BYTES;
    if (at + length > plaintext.length) {
      items.push(unreadable(segment, `record ${index} runs out of its frame`));
      break;
    }
    const decoded = decodeRecord(plaintext.toString("utf8", at, at + length));
    at += length;
    if (decoded.kind === "event")
      items.push({ kind: "record", segment: place.segment, frame: place.frame, index, event: decoded.event });
    else if (decoded.kind === "newer") items.push({ kind: "newer", ...place, index, event: decoded.event });
    else items.push(unreadable(segment, `record ${index}: ${decoded.detail}`));
  }
  return items;
}

function openFrame(cursor: Cursor, keys: FrameKeys): Buffer | undefined {
  const { buffer, at, header } = cursor;
  const key = keys.next();
  const start = at + HEADER_BYTES;
  let end = start + header.bodyLength;
  // The section for the gateway itself stands last, its length after it.
  if ((header.flags & DATA_FLAG_REDO) !== 0)
    end -=
      header.bodyLength < LENGTH_BYTES ? header.bodyLength : LENGTH_BYTES + buffer.readUInt32LE(end - LENGTH_BYTES);
  if (end - start < TAG_BYTES + LENGTH_BYTES) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, ZERO_NONCE, { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalData(buffer, at));
    decipher.setAuthTag(buffer.subarray(end - TAG_BYTES, end));
    const plaintext = decipher.update(buffer.subarray(start, end - TAG_BYTES));
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

/** header ‖ link_prev. On disk they stand the other way round. */
function additionalData(buffer: Buffer, at: number): Buffer {
  const additional = Buffer.allocUnsafe(HEADER_BYTES + LINK_BYTES);
  buffer.copy(additional, 0, at, at + HEADER_BYTES);
  buffer.copy(additional, HEADER_BYTES, at - LINK_BYTES, at);
  return additional;
}

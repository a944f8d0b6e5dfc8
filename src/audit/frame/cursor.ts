import type { ReadFile } from "../files.ts";
import {
  FRAME_OVERHEAD_BYTES,
  type FrameHeader,
  HEADER_BYTES,
  LINK_BYTES,
  linkOf,
  MAGIC,
  MAX_BODY_BYTES,
  readHeader,
  SEGMENT_HEADER_BYTES,
} from "./layout.ts";

const CHUNK_BYTES = 1_048_576;
/** A writer sets aside a megabyte, and most walks end long before it: whoever reads it all in one piece has the collector after a few walks. */
const FIRST_BYTES = 65_536;
/** What a writer sets aside is compared with these in one go: byte by byte it takes as long as the rest of a short check. */
const ZEROS = Buffer.alloc(FIRST_BYTES);
const look = Buffer.alloc(FIRST_BYTES);

/** Where a walk over the frames of one segment stands. `end`: only unused zeros follow; `torn`: something else does. */
export type Step = "frame" | "end" | "torn";

/**
 * Walks a segment with one buffer. While it stands on a frame, `buffer` holds the link before it, its header, body and
 * link side by side from `at - 32`; the next step may move them.
 */
export interface Cursor {
  readonly buffer: Buffer;
  /** Index in `buffer` of the frame's header. */
  readonly at: number;
  /** Offset in the file of the frame's header, or where the whole frames end. */
  readonly offset: number;
  readonly header: FrameHeader;
  next(): Step;
  /** Makes the next step look at the same place once more, with fresh bytes. */
  again(): void;
  /** Whether the file holds other bytes by now than those that it stands on: somebody writes there. */
  changed(): boolean;
  /** Bytes the file had when the walk began. A live writer may add more. */
  readonly size: number;
}

/** Undefined when the file does not start as a segment does. */
export function openCursor(file: ReadFile): Cursor | undefined {
  let size = file.size();
  let buffer = Buffer.allocUnsafe(Math.max(SEGMENT_HEADER_BYTES, Math.min(FIRST_BYTES, size)));
  let filled = file.read(buffer, 0);
  if (filled < SEGMENT_HEADER_BYTES || !buffer.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  let bufferOffset = 0;
  let at = 0;
  let nextAt = SEGMENT_HEADER_BYTES;
  let stale = false;
  let header: FrameHeader = { bodyLength: 0, type: 1, flags: 0, frame: 0 };

  /** Makes `needed` bytes from the frame's header available, keeping the link before it. */
  const have = (needed: number): boolean => {
    if (at + needed <= filled) return true;
    const keepFrom = at - LINK_BYTES;
    const kept = filled - keepFrom;
    const left = size - bufferOffset - keepFrom;
    const enough = Math.min(needed + CHUNK_BYTES, MAX_BODY_BYTES + FRAME_OVERHEAD_BYTES + CHUNK_BYTES);
    const small = buffer.length < CHUNK_BYTES && buffer.length < left;
    const target =
      small || needed + LINK_BYTES > buffer.length
        ? Buffer.allocUnsafe(Math.max(kept, Math.min(enough, left)))
        : buffer;
    buffer.copy(target, 0, keepFrom, filled);
    buffer = target;
    bufferOffset += keepFrom;
    at = LINK_BYTES;
    const room = Math.max(0, Math.min(buffer.length - kept, size - bufferOffset - kept));
    filled = kept + file.read(buffer.subarray(kept, kept + room), bufferOffset + kept);
    return at + needed <= filled;
  };

  return {
    get size() {
      return size;
    },
    get buffer() {
      return buffer;
    },
    get at() {
      return at;
    },
    get offset() {
      return bufferOffset + at;
    },
    get header() {
      return header;
    },
    again() {
      nextAt = at;
      filled = Math.min(filled, at);
      stale = true;
    },
    changed() {
      const now = Buffer.allocUnsafe(Math.max(0, filled - at));
      return (
        file.size() !== size || file.read(now, bufferOffset + at) < now.length || now.compare(buffer, at, filled) !== 0
      );
    },
    next() {
      at = nextAt;
      if (stale) size = file.size();
      stale = false;
      if (!have(HEADER_BYTES)) return lastNonZero(file, bufferOffset + at, size) < 0 ? "end" : "torn";
      const found = readHeader(buffer, at);
      if (found === undefined) return lastNonZero(file, bufferOffset + at, size) < 0 ? "end" : "torn";
      if (!have(FRAME_OVERHEAD_BYTES + found.bodyLength)) return "torn";
      header = found;
      nextAt = at + FRAME_OVERHEAD_BYTES + found.bodyLength;
      return "frame";
    },
  };
}

/** Whether the frame it stands on hashes to its link. */
export function isLinked({ buffer, at, header }: Cursor): boolean {
  const end = at + HEADER_BYTES + header.bodyLength;
  return linkOf(buffer.subarray(at - LINK_BYTES, end)).equals(buffer.subarray(end, end + LINK_BYTES));
}

/** Offset of the last byte from `from` on that is not zero; -1 when there is none. */
export function lastNonZero(file: ReadFile, from: number, size: number): number {
  for (let end = size; end > from; ) {
    const start = Math.max(from, end - look.length);
    const got = file.read(look.subarray(0, end - start), start);
    if (look.compare(ZEROS, 0, got, 0, got) !== 0)
      for (let index = got - 1; index >= 0; index--) if (look[index] !== 0) return start + index;
    end = start;
  }
  return -1;
}

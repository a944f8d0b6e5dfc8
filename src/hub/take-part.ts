import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CUT_NAME, MAX_CUT_BYTES } from "../audit/cut/cut.ts";
import type { ReadFile } from "../audit/files.ts";
import { lastNonZero } from "../audit/frame/cursor.ts";
import {
  FRAME_OVERHEAD_BYTES,
  GENESIS_LINK,
  HEADER_BYTES,
  LINK_BYTES,
  linkOf,
  MAGIC,
  readHeader,
  SEGMENT_HEADER_BYTES,
  segmentName,
  segmentOf,
} from "../audit/frame/layout.ts";
import { openReadFile } from "../audit/node-files.ts";
import type { Head } from "../audit/receipt.ts";
import { Denied } from "../kernel/failure.ts";

/** How far a log has gone up. Segment 0 holds the cut of a log whose oldest segments were moved away before. */
export interface Reached {
  readonly segment: number;
  readonly offset: number;
  readonly frameEnd: number;
  readonly nextFrame: number;
  readonly link: string;
}

export interface Part {
  readonly bytes: Buffer;
  /** Where in its segment these bytes begin. */
  readonly offset: number;
  /** How far the log has gone up with them. */
  readonly reached: Reached;
}

export const NOWHERE: Reached = {
  segment: 0,
  offset: 0,
  frameEnd: 0,
  nextFrame: 0,
  link: GENESIS_LINK.toString("hex"),
};

/**
 * The next bytes of a log's own files after `from`: whole frames that are durable, or the torn end that a crash left in a segment
 * that is over. Null while there are none.
 */
export function takePart(folder: string, from: Reached, durable: Head, mostBytes: number): Part | null {
  for (let at = from; ; ) {
    if (at.segment === 0) {
      const first = oldestSegment(folder);
      if (first > 1 && at.offset === 0) return takeCut(folder);
      at = { ...at, segment: first, offset: 0, frameEnd: 0 };
    }
    const file = openSegment(folder, at.segment);
    if (file === null) {
      at = followed(folder, at);
      continue;
    }
    try {
      const part =
        takeFrames(file, at, durable, mostBytes) ??
        (at.segment < durable.segment ? takeTail(file, at, mostBytes) : null);
      if (part !== null) return part;
    } finally {
      file.close();
    }
    if (at.segment >= durable.segment) return null;
    at = { ...at, segment: at.segment + 1, offset: 0, frameEnd: 0 };
  }
}

/** Whether what somebody says of this log's past is what stands in its files; gone where the file that would tell was moved away. */
export function judgePast(folder: string, { segment, frameEnd, link }: Reached): "own" | "foreign" | "gone" {
  if (frameEnd === 0) return "own";
  const file = openSegment(folder, segment);
  // A segment that was moved away: the one after it begins with its last link. One that never was is another log's.
  if (file === null) {
    if (linkBefore(folder, segment + 1) === link) return "own";
    return segment < oldestSegment(folder) ? "gone" : "foreign";
  }
  try {
    const own = Buffer.alloc(LINK_BYTES);
    const same = file.read(own, frameEnd - LINK_BYTES) === LINK_BYTES && own.toString("hex") === link;
    return same ? "own" : "foreign";
  } finally {
    file.close();
  }
}

export function logGone(segment: number): Denied {
  return new Denied(
    "hub_log_gone",
    `Segment ${segment} of the log was moved away before all of it had reached the hub. Bring it back from the archive: what is missing goes up then, by itself.`,
  );
}

function takeFrames(file: ReadFile, at: Reached, durable: Head, mostBytes: number): Part | null {
  // With the link that the first of them hashes: it stands in front of it.
  const from = at.offset === 0 ? 0 : at.offset - LINK_BYTES;
  const start = at.offset === 0 ? SEGMENT_HEADER_BYTES : LINK_BYTES;
  let buffer = readAt(file, from, start + Math.max(mostBytes, HEADER_BYTES));
  let [end, nextFrame, link] = [start, at.nextFrame, at.link];
  for (;;) {
    if (end + HEADER_BYTES > buffer.length) break;
    const header = readHeader(buffer, end);
    // The first frame of a segment has whatever number it has; the verifier of the hub's copy looks at that.
    const follows = header?.frame === nextFrame || (at.offset === 0 && end === start);
    if (header === undefined || !follows || header.frame > durable.frame) break;
    const after = end + FRAME_OVERHEAD_BYTES + header.bodyLength;
    if (after > buffer.length) {
      if (end > start) break;
      buffer = readAt(file, from, after);
      if (after > buffer.length) break;
    }
    const own = buffer.subarray(after - LINK_BYTES, after);
    // Torn, with the space set aside behind it: the next start gave its number to another frame.
    const isOver = at.segment < durable.segment;
    if (isOver && !linkOf(buffer.subarray(end - LINK_BYTES, after - LINK_BYTES)).equals(own)) break;
    link = own.toString("hex");
    nextFrame = header.frame + 1;
    end = after;
  }
  if (end === start) return null;
  const offset = from + end;
  const reached = { segment: at.segment, offset, frameEnd: offset, nextFrame, link };
  return { bytes: buffer.subarray(at.offset - from, end), offset: at.offset, reached };
}

/** What stands behind the last frame of a segment that is over; the next segment declares it. */
function takeTail(file: ReadFile, at: Reached, mostBytes: number): Part | null {
  const last = lastNonZero(file, at.offset, file.size());
  if (last < 0) return null;
  const bytes = readAt(file, at.offset, Math.min(mostBytes, last + 1 - at.offset));
  return { bytes, offset: at.offset, reached: { ...at, offset: at.offset + bytes.length } };
}

function takeCut(folder: string): Part {
  const file = openReadFile(join(folder, CUT_NAME));
  try {
    const bytes = readAt(file, 0, MAX_CUT_BYTES);
    return { bytes, offset: 0, reached: { ...NOWHERE, offset: bytes.length } };
  } finally {
    file.close();
  }
}

/** The segment was moved away after it had gone up whole; anything else is a gap that only a person can close. */
function followed(folder: string, at: Reached): Reached {
  if (linkBefore(folder, at.segment + 1) !== at.link) throw logGone(at.segment);
  return { ...at, segment: at.segment + 1, offset: 0, frameEnd: 0 };
}

function linkBefore(folder: string, segment: number): string | null {
  const file = openSegment(folder, segment);
  if (file === null) return null;
  try {
    return readAt(file, 0, SEGMENT_HEADER_BYTES).toString("hex", MAGIC.length);
  } finally {
    file.close();
  }
}

function openSegment(folder: string, segment: number): ReadFile | null {
  try {
    return openReadFile(join(folder, segmentName(segment)));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

function oldestSegment(folder: string): number {
  const numbers = readdirSync(folder).flatMap((name) => segmentOf(name) ?? []);
  return Math.min(...numbers);
}

function readAt(file: ReadFile, offset: number, most: number): Buffer {
  const bytes = Buffer.alloc(Math.max(0, Math.min(most, file.size() - offset)));
  return bytes.subarray(0, file.read(bytes, offset));
}

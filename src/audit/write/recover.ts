import { Denied } from "../../kernel/failure.ts";
import type { LogFiles } from "../files.ts";
import { decodeOpen, HASH_BYTES } from "../frame/bodies.ts";
import { type Cursor, isLinked, openCursor } from "../frame/cursor.ts";
import {
  FRAME_OVERHEAD_BYTES,
  FRAME_TYPES,
  HEADER_BYTES,
  LINK_BYTES,
  MAGIC,
  SEAL_FLAG_CLEAN,
  segmentName,
  segmentOf,
} from "../frame/layout.ts";
import { examineTail } from "../frame/tail.ts";

/** Where the log on disk ends, as the next OPEN will declare it. */
export interface LogEnd {
  readonly logId: Buffer;
  readonly segment: number;
  readonly nextFrame: number;
  readonly link: Buffer;
  readonly clean: boolean;
  readonly previousLength: number;
  readonly tornLength: number;
  readonly tornHash: Buffer;
}

/** Undefined for a folder without a log. A log that was changed is refused: nothing is appended to a broken chain. */
export function findEnd(files: LogFiles): LogEnd | undefined {
  const segments = files
    .list()
    .map(segmentOf)
    .filter((number) => number !== undefined)
    .sort((a, b) => a - b);
  const last = segments.at(-1);
  if (last === undefined) return undefined;
  const end = readEnd(files, last);
  const before = segments.at(-2);
  if (end.firstFrame > 0) {
    if (before !== last - 1) throw damaged(`segment ${last - 1} is missing`);
    const previous = readEnd(files, before);
    const continues = previous.link.equals(end.linkBefore) && previous.nextFrame === end.firstFrame;
    if (!continues || !previous.logId.equals(end.logId)) {
      throw damaged(`segment ${last} does not continue segment ${before}`);
    }
  }
  return end;
}

interface SegmentEnd extends LogEnd {
  readonly firstFrame: number;
  readonly linkBefore: Buffer;
}

function readEnd(files: LogFiles, segment: number): SegmentEnd {
  const name = segmentName(segment);
  const file = files.openToRead(name);
  try {
    const cursor = openCursor(file);
    if (cursor?.next() !== "frame" || !isLinked(cursor))
      throw damaged(`${name} does not start with a whole OPEN frame`);
    const linkBefore = Buffer.from(cursor.buffer.subarray(MAGIC.length, MAGIC.length + LINK_BYTES));
    const firstFrame = cursor.header.frame;
    const open = cursor.header.type === FRAME_TYPES.open ? decodeOpen(bodyOf(cursor)) : undefined;
    if (open === undefined || open.segment !== segment) throw damaged(`${name} does not start with its own OPEN frame`);
    const logId = Buffer.from(open.logId);
    let nextFrame = firstFrame + 1;
    let link = linkAfter(cursor);
    let previousLength = cursor.offset + FRAME_OVERHEAD_BYTES + cursor.header.bodyLength;
    let clean = false;
    while (cursor.next() === "frame" && cursor.header.frame === nextFrame && isLinked(cursor)) {
      nextFrame++;
      link = linkAfter(cursor);
      previousLength = cursor.offset + FRAME_OVERHEAD_BYTES + cursor.header.bodyLength;
      clean = cursor.header.type === FRAME_TYPES.seal && (cursor.header.flags & SEAL_FLAG_CLEAN) !== 0;
    }
    const tail = examineTail(file, previousLength, nextFrame);
    if (tail.damage !== null) throw damaged(`${name} was changed after frame ${nextFrame - 1} (${tail.damage})`);
    if (clean && tail.length > 0) throw damaged(`${name} goes on after its clean stop`);
    return {
      logId,
      segment,
      nextFrame,
      link,
      clean,
      previousLength,
      tornLength: tail.length,
      tornHash: tail.length === 0 ? Buffer.alloc(HASH_BYTES) : tail.hash,
      firstFrame,
      linkBefore,
    };
  } finally {
    file.close();
  }
}

function bodyOf(cursor: Cursor): Buffer {
  const start = cursor.at + HEADER_BYTES;
  return cursor.buffer.subarray(start, start + cursor.header.bodyLength);
}

function linkAfter(cursor: Cursor): Buffer {
  const end = cursor.at + HEADER_BYTES + cursor.header.bodyLength;
  return Buffer.from(cursor.buffer.subarray(end, end + LINK_BYTES));
}

function damaged(detail: string): Denied {
  return new Denied(
    "log_damaged",
    `The audit log on disk is not whole: ${detail}. Run \`gw audit verify\`, keep the folder as evidence and start with a new one.`,
  );
}

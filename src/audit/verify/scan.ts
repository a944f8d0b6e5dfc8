import { hash } from "node:crypto";
import { type Cursor, lastNonZero } from "../frame/cursor.ts";
import {
  DATA_FLAG_REDO,
  FRAME_OVERHEAD_BYTES,
  FRAME_TYPES,
  type FrameHeader,
  HEADER_BYTES,
  LINK_BYTES,
  MAGIC,
  MAX_BODY_BYTES,
  readHeader,
  SEGMENT_HEADER_BYTES,
} from "../frame/layout.ts";
import { isPadded } from "../frame/padding.ts";
import { handsIn, sectionOf } from "../frame/section.ts";
import { openReadFile } from "../node-files.ts";

/**
 * One segment looked at by itself, as several threads can at once: every frame hashes to its link, numbers go up by one,
 * records are padded. What the history of the log depends on is copied out, byte for byte as it was hashed, for the walk.
 */
export interface Scan {
  readonly linkBefore: Uint8Array;
  readonly firstFrame: number;
  readonly lastLink: Uint8Array;
  /** Where the whole frames end in the file. */
  readonly end: number;
  readonly marks: readonly Mark[];
  /** The marks' bytes one after the other, each `link before ‖ header ‖ body ‖ link`. */
  readonly bytes: Uint8Array;
  /** Records after the last mark. */
  readonly recordsAfter: number;
}

/** A frame that is more than a record: an OPEN, a seal, an attestation, or one with what a passkey answered. */
export interface Mark {
  /** Records between the mark before and this one. */
  readonly records: number;
  /** Of its header, in the file. */
  readonly offset: number;
  readonly header: FrameHeader;
}

/** More of them are not worth copying: whoever asks walks the segment in the ordinary way. */
const MOST_BYTES = 16_777_216;
/** Read at once, but for a frame that is larger. */
const CHUNK_BYTES = 1_048_576;

/** Null where anything at all is out of the ordinary: the walk itself then finds out what, and where. */
export function scanSegment(path: string): Scan | null {
  try {
    return scanFile(path);
  } catch {
    return null;
  }
}

/**
 * One loop over one buffer, without a cursor: a thread lives for a few segments, and would spend the first of them with
 * code that is not compiled yet.
 */
function scanFile(path: string): Scan | null {
  const file = openReadFile(path);
  try {
    const size = file.size();
    // What is set aside counts for the collector, used or not: a short segment gets no more than it has.
    const buffer = Buffer.allocUnsafeSlow(Math.min(LINK_BYTES + FRAME_OVERHEAD_BYTES + MAX_BODY_BYTES, size));
    let filled = file.read(buffer.subarray(0, Math.min(CHUNK_BYTES, size)), 0);
    if (filled < SEGMENT_HEADER_BYTES || !buffer.subarray(0, MAGIC.length).equals(MAGIC)) return null;
    const linkBefore = Uint8Array.from(buffer.subarray(MAGIC.length, SEGMENT_HEADER_BYTES));
    const marks: Mark[] = [];
    const copied: Buffer[] = [];
    let copiedBytes = 0;
    let records = 0;
    let firstFrame = -1;
    let nextFrame = -1;
    let lastLink = "";
    /** Where in the file the buffer begins, and where in the buffer the frame does. */
    let base = 0;
    let at = SEGMENT_HEADER_BYTES;
    for (;;) {
      const header = at + HEADER_BYTES > filled ? undefined : readHeader(buffer, at);
      const end = at + HEADER_BYTES + (header?.bodyLength ?? 0);
      if (header === undefined || end + LINK_BYTES > filled) {
        const from = at - LINK_BYTES;
        buffer.copyWithin(0, from, filled);
        base += from;
        filled -= from;
        at = LINK_BYTES;
        const until = Math.min(Math.max(CHUNK_BYTES, end + LINK_BYTES - from), size - base);
        const got = until > filled ? file.read(buffer.subarray(filled, until), base + filled) : 0;
        if (got === 0) break;
        filled += got;
        continue;
      }
      const { frame, type } = header;
      if (firstFrame === -1) firstFrame = nextFrame = frame;
      if (frame !== nextFrame++ || (type === FRAME_TYPES.open) !== (frame === firstFrame)) return null;
      if (type === FRAME_TYPES.data && !isPadded(header)) return null;
      const link = linkAt(buffer, at, end);
      if (link === null) return null;
      if (isMark(buffer, at, header)) {
        copied.push(Buffer.from(buffer.subarray(at - LINK_BYTES, end + LINK_BYTES)));
        copiedBytes += end - at + 2 * LINK_BYTES;
        if (copiedBytes > MOST_BYTES) return null;
        marks.push({ records, offset: base + at, header });
        records = 0;
      } else records++;
      lastLink = link;
      at = end + LINK_BYTES;
    }
    // What a writer sets aside is zeros. Anything else behind the last whole frame is for the walk to explain.
    if (marks.length === 0 || lastNonZero(file, base + at, size) >= 0) return null;
    return {
      linkBefore,
      firstFrame,
      lastLink: Uint8Array.from(Buffer.from(lastLink, "latin1")),
      end: base + at,
      marks,
      bytes: Uint8Array.from(Buffer.concat(copied)),
      recordsAfter: records,
    };
  } finally {
    file.close();
  }
}

/** Whether the frame it stands on hashes to its link. */
export function hashesToLink({ buffer, at, header }: Cursor): boolean {
  return linkAt(buffer, at, at + HEADER_BYTES + header.bodyLength) !== null;
}

/**
 * The link that stands at `end`, as text, where the bytes before it hash to it. With a short frame the way to OpenSSL and
 * back takes longer than the hash: the cheapest is a plain view in and a string out, compared character by character.
 */
function linkAt(buffer: Buffer, at: number, end: number): string | null {
  const from = at - LINK_BYTES;
  const link = hash("sha256", new Uint8Array(buffer.buffer, buffer.byteOffset + from, end - from), "binary");
  for (let index = 0; index < LINK_BYTES; index++) if (link.charCodeAt(index) !== buffer[end + index]) return null;
  return link;
}

function isMark(buffer: Buffer, at: number, header: FrameHeader): boolean {
  if (header.type !== FRAME_TYPES.data) return true;
  if (header.flags !== DATA_FLAG_REDO) return false;
  const section = sectionOf({ buffer, at, header });
  return section !== undefined && handsIn(section)?.length !== 0;
}

import { hash } from "node:crypto";
import { type Cursor, openCursor } from "../frame/cursor.ts";
import { DATA_FLAG_REDO, FRAME_TYPES, type FrameHeader, HEADER_BYTES, LINK_BYTES, MAGIC } from "../frame/layout.ts";
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

/** Null where anything at all is out of the ordinary: the walk itself then finds out what, and where. */
export function scanSegment(path: string): Scan | null {
  try {
    return scanFile(path);
  } catch {
    return null;
  }
}

function scanFile(path: string): Scan | null {
  const file = openReadFile(path);
  try {
    const cursor = openCursor(file);
    if (cursor === undefined) return null;
    const linkBefore = Uint8Array.from(cursor.buffer.subarray(MAGIC.length, MAGIC.length + LINK_BYTES));
    const lastLink = new Uint8Array(LINK_BYTES);
    const marks: Mark[] = [];
    const copied: Buffer[] = [];
    let copiedBytes = 0;
    let records = 0;
    let firstFrame = -1;
    let nextFrame = -1;
    for (let step = cursor.next(); step !== "end"; step = cursor.next()) {
      if (step === "torn" || !hashesToLink(cursor)) return null;
      const { buffer, at, header, offset } = cursor;
      if (firstFrame === -1) firstFrame = nextFrame = header.frame;
      if (header.frame !== nextFrame++ || (header.type === FRAME_TYPES.open) !== (header.frame === firstFrame))
        return null;
      const end = at + HEADER_BYTES + header.bodyLength + LINK_BYTES;
      if (header.type === FRAME_TYPES.data && !isPadded(header)) return null;
      if (isMark(cursor)) {
        copied.push(Buffer.from(buffer.subarray(at - LINK_BYTES, end)));
        copiedBytes += end - at + LINK_BYTES;
        if (copiedBytes > MOST_BYTES) return null;
        marks.push({ records, offset, header });
        records = 0;
      } else records++;
      buffer.copy(lastLink, 0, end - LINK_BYTES, end);
    }
    if (marks.length === 0) return null;
    const bytes = new Uint8Array(copiedBytes);
    let at = 0;
    for (const one of copied) {
      bytes.set(one, at);
      at += one.length;
    }
    return { linkBefore, firstFrame, lastLink, end: cursor.offset, marks, bytes, recordsAfter: records };
  } finally {
    file.close();
  }
}

/** Compared as text: making a string is the cheapest way to get a hash out of OpenSSL. */
export function hashesToLink({ buffer, at, header }: Cursor): boolean {
  const end = at + HEADER_BYTES + header.bodyLength;
  const link = hash("sha256", buffer.subarray(at - LINK_BYTES, end), "binary");
  return link === buffer.toString("latin1", end, end + LINK_BYTES);
}

function isMark(cursor: Cursor): boolean {
  const { type, flags } = cursor.header;
  if (type !== FRAME_TYPES.data) return true;
  if (flags !== DATA_FLAG_REDO) return false;
  const section = sectionOf(cursor);
  return section !== undefined && handsIn(section)?.length !== 0;
}

import { createHash } from "node:crypto";
import type { ReadFile } from "../files.ts";
import { lastNonZero } from "./cursor.ts";
import {
  FRAME_OVERHEAD_BYTES,
  HEADER_BYTES,
  LINK_BYTES,
  linkOf,
  MAX_BODY_BYTES,
  readHeader,
  SEGMENT_HEADER_BYTES,
} from "./layout.ts";

/** What stands after the whole frames of a segment, trailing zeros not counted: they are space the writer set aside. */
export interface Tail {
  readonly length: number;
  readonly hash: Buffer;
  /** Why an interrupted write cannot explain it. A writer has one frame in flight, never two. */
  readonly damage: "tail_too_long" | "tail_past_frame" | "tail_holds_frames" | null;
}

/** Nothing but zeros. */
export const NO_TAIL: Tail = { length: 0, hash: createHash("sha256").digest(), damage: null };
const MAX_TAIL_BYTES = SEGMENT_HEADER_BYTES + FRAME_OVERHEAD_BYTES + MAX_BODY_BYTES;
const CHUNK_BYTES = 1_048_576;
/** Bytes hashed in search of whole frames before a tail counts as made up to keep us busy. */
const MAX_SEARCH_BYTES = 67_108_864;

export function examineTail(file: ReadFile, from: number, nextFrame: number): Tail {
  const length = Math.max(0, lastNonZero(file, from, file.size()) + 1 - from);
  if (length === 0) return NO_TAIL;
  return { length, hash: hashRange(file, from, length), damage: damageOf(file, from, length, nextFrame) };
}

export function hashRange(file: ReadFile, from: number, length: number): Buffer {
  const digest = createHash("sha256");
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length));
  for (let done = 0; done < length; ) {
    const got = file.read(chunk.subarray(0, Math.min(chunk.length, length - done)), from + done);
    if (got === 0) break;
    digest.update(chunk.subarray(0, got));
    done += got;
  }
  return digest.digest();
}

function damageOf(file: ReadFile, from: number, length: number, nextFrame: number): Tail["damage"] {
  if (length > MAX_TAIL_BYTES) return "tail_too_long";
  const start = Math.max(0, from - LINK_BYTES);
  const bytes = Buffer.alloc(from - start + length);
  file.read(bytes, start);
  const at = from - start;
  const header = bytes.length - at >= HEADER_BYTES ? readHeader(bytes, at) : undefined;
  if (header?.frame === nextFrame && length > FRAME_OVERHEAD_BYTES + header.bodyLength) return "tail_past_frame";
  return holdsWholeFrame(bytes, at, nextFrame) ? "tail_holds_frames" : null;
}

/** A frame that links to the bytes before it was once whole: what stands before it was changed, not interrupted. */
function holdsWholeFrame(bytes: Buffer, from: number, nextFrame: number): boolean {
  let searched = 0;
  for (let at = Math.max(from, LINK_BYTES); at + FRAME_OVERHEAD_BYTES <= bytes.length; at++) {
    if (bytes[at + 6] !== 0 || bytes[at + 7] !== 0) continue;
    const header = readHeader(bytes, at);
    if (header === undefined || header.frame < nextFrame) continue;
    const end = at + HEADER_BYTES + header.bodyLength;
    if (end + LINK_BYTES > bytes.length) continue;
    searched += end - at;
    if (searched > MAX_SEARCH_BYTES) return true;
    if (linkOf(bytes.subarray(at - LINK_BYTES, end)).equals(bytes.subarray(end, end + LINK_BYTES))) return true;
  }
  return false;
}

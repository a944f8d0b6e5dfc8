import type { Cursor } from "./cursor.ts";
import { DATA_FLAG_REDO, FRAME_TYPES, HEADER_BYTES } from "./layout.ts";
import { STAMP_BYTES } from "./stamp.ts";

/**
 * The second section of a DATA frame, in clear: the stamp of the gateway's own next start, and after it what passkeys
 * answered for decisions of this frame or of one soon after. Whoever has no key to the log can check those.
 */
const LENGTH_BYTES = 4;
/** An answer and its passkey's enrolment: what their own limits leave, with room. */
const MAX_HAND_BYTES = 32_768;
export const HANDS_A_FRAME = 8;

export function encodeSection(stamp: Buffer, hands: readonly string[]): Buffer {
  if (hands.length === 0) return stamp;
  return Buffer.concat([
    stamp,
    ...hands.flatMap((text) => {
      const bytes = Buffer.from(text, "utf8");
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    }),
  ]);
}

/** The section of a frame that has one; undefined for every other, and for one that runs out of its frame. */
export function sectionOf({ buffer, at, header }: Pick<Cursor, "buffer" | "at" | "header">): Buffer | undefined {
  if (header.type !== FRAME_TYPES.data || (header.flags & DATA_FLAG_REDO) === 0 || header.bodyLength < LENGTH_BYTES)
    return undefined;
  const end = at + HEADER_BYTES + header.bodyLength - LENGTH_BYTES;
  const length = buffer.readUInt32LE(end);
  return length > header.bodyLength - LENGTH_BYTES ? undefined : buffer.subarray(end - length, end);
}

const NONE: readonly string[] = [];

/** What passkeys answered, as it stands in a section with our kind of stamp; undefined where that cannot be read. */
export function handsIn(section: Buffer): readonly string[] | undefined {
  if (section.length <= STAMP_BYTES || section[0] !== 1) return NONE;
  const hands: string[] = [];
  for (let at = STAMP_BYTES; at < section.length; ) {
    if (at + LENGTH_BYTES > section.length) return undefined;
    const length = section.readUInt32LE(at);
    at += LENGTH_BYTES;
    if (length > MAX_HAND_BYTES || at + length > section.length || hands.length === HANDS_A_FRAME) return undefined;
    hands.push(section.toString("utf8", at, at + length));
    at += length;
  }
  return hands;
}

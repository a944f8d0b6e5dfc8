import { createDecipheriv, type KeyObject } from "node:crypto";
import type { Cursor } from "../frame/cursor.ts";
import { DATA_FLAG_REDO, HEADER_BYTES, LINK_BYTES } from "../frame/layout.ts";

const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const ZERO_NONCE = Buffer.alloc(12);
/** header ‖ link_prev, and the tag: copied here for each frame, which costs less than a buffer or a view for each. */
const ADDITIONAL = Buffer.alloc(HEADER_BYTES + LINK_BYTES);
const TAG = Buffer.alloc(TAG_BYTES);

/** The records of the DATA frame that the cursor stands on, and their padding; undefined where the key does not open it. */
export function openFrame(cursor: Cursor, key: KeyObject): Buffer | undefined {
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

import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import { openSealed, sealFor } from "../keys/hpke.ts";
import { keyIdOf, rawPublicOf } from "../keys/raw.ts";

/**
 * What an operation wrote, sealed for whoever may read the log. The file stands beside the log and is bound to its
 * attempt; the completion event carries the digest of what is inside, so that another recording cannot take its place.
 *
 *   "GWREC01\n"  count:u8  { key id:16  encapsulated:32  sealed content key:48 } × count  nonce:12  ciphertext  tag:16
 */
const MAGIC = Buffer.from("GWREC01\n", "latin1");
const LABEL = Buffer.from("gw-audit-v1 recording ");
const KEY_BYTES = 32;
const KEY_ID_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const WRAP_BYTES = KEY_ID_BYTES + KEY_BYTES + KEY_BYTES + TAG_BYTES;
const RECIPIENTS_MAX = 255;

export function sealRecording(
  attemptId: string,
  plaintext: Buffer,
  recipients: readonly KeyObject[],
  random: Random,
): Buffer {
  if (recipients.length === 0 || recipients.length > RECIPIENTS_MAX) throw new RangeError("recipients out of range");
  const info = infoOf(attemptId);
  const contentKey = random.bytes(KEY_BYTES);
  try {
    const wraps = recipients.map((recipient) => {
      const { encapsulated, sealed } = sealFor(recipient, info, MAGIC, contentKey, random);
      return Buffer.concat([keyIdOf(rawPublicOf("x25519", recipient)), encapsulated, sealed]);
    });
    const head = Buffer.concat([MAGIC, Buffer.from([recipients.length]), ...wraps]);
    const nonce = random.bytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", contentKey, nonce);
    cipher.setAAD(Buffer.concat([info, head]));
    return Buffer.concat([head, nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  } finally {
    contentKey.fill(0);
  }
}

/** Undefined when this key does not open it, or when it is not the recording of this attempt. */
export function openRecording(attemptId: string, bytes: Buffer, readingKey: KeyObject): Buffer | undefined {
  const count = bytes[MAGIC.length] ?? 0;
  const headBytes = MAGIC.length + 1 + count * WRAP_BYTES;
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC) || bytes.length < headBytes + NONCE_BYTES + TAG_BYTES)
    return undefined;
  const info = infoOf(attemptId);
  const contentKey = findContentKey(bytes.subarray(MAGIC.length + 1, headBytes), info, readingKey);
  if (contentKey === undefined) return undefined;
  try {
    const nonce = bytes.subarray(headBytes, headBytes + NONCE_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", contentKey, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.concat([info, bytes.subarray(0, headBytes)]));
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    const plaintext = decipher.update(bytes.subarray(headBytes + NONCE_BYTES, bytes.length - TAG_BYTES));
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  } finally {
    contentKey.fill(0);
  }
}

function findContentKey(wraps: Buffer, info: Buffer, readingKey: KeyObject): Buffer | undefined {
  const keyId = keyIdOf(rawPublicOf("x25519", readingKey));
  for (let at = 0; at < wraps.length; at += WRAP_BYTES) {
    const wrap = wraps.subarray(at, at + WRAP_BYTES);
    if (!wrap.subarray(0, KEY_ID_BYTES).equals(keyId)) continue;
    const encapsulated = wrap.subarray(KEY_ID_BYTES, KEY_ID_BYTES + KEY_BYTES);
    return openSealed(readingKey, { encapsulated, sealed: wrap.subarray(KEY_ID_BYTES + KEY_BYTES) }, info, MAGIC);
  }
  return undefined;
}

function infoOf(attemptId: string): Buffer {
  return Buffer.concat([LABEL, Buffer.from(attemptId, "utf8")]);
}

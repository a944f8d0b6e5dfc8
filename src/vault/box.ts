import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import type { Random } from "../kernel/clock.ts";
import { Secret } from "../kernel/secret.ts";

/**
 * One sealed value: salt(32) | key commitment(32) | AES-256-GCM ciphertext | tag(16).
 * Every box has a key of its own, derived from the fresh salt, so the nonce is constant and no counter can repeat.
 * GCM alone opens under more than one key; the commitment, derived beside the key, pins the only one.
 */
export const BOX_OVERHEAD_BYTES = 80;

const SALT_BYTES = 32;
const COMMITMENT_BYTES = 32;
const TAG_BYTES = 16;
const NONCE = Buffer.alloc(12);

/** The key of one box, held outside the JavaScript heap. Deriving it checks the commitment. */
export type BoxKey = KeyObject;

export function seal(key: KeyObject, aad: string, plain: Buffer, random: Random): Buffer {
  const salt = random.bytes(SALT_BYTES);
  const { boxKey, commitment } = deriveBoxKey(key, salt);
  const cipher = createCipheriv("aes-256-gcm", boxKey, NONCE);
  cipher.setAAD(Buffer.from(aad));
  return Buffer.concat([salt, commitment, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined when the key, the associated data or the box is not the one that was sealed. */
export function unseal(key: KeyObject, aad: string, box: Buffer): Secret | undefined {
  const boxKey = boxKeyOf(key, box);
  return boxKey === undefined ? undefined : unsealWith(boxKey, Buffer.from(aad), box);
}

export function boxKeyOf(key: KeyObject, box: Buffer): BoxKey | undefined {
  if (box.length < BOX_OVERHEAD_BYTES) return undefined;
  const { boxKey, commitment } = deriveBoxKey(key, box.subarray(0, SALT_BYTES));
  return timingSafeEqual(commitment, box.subarray(SALT_BYTES, SALT_BYTES + COMMITMENT_BYTES)) ? boxKey : undefined;
}

export function unsealWith(boxKey: BoxKey, aad: Buffer, box: Buffer): Secret | undefined {
  const decipher = createDecipheriv("aes-256-gcm", boxKey, NONCE, { authTagLength: TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(box.subarray(box.length - TAG_BYTES));
  const plain = decipher.update(box.subarray(SALT_BYTES + COMMITMENT_BYTES, box.length - TAG_BYTES));
  try {
    // GCM is a stream: everything is out of `update`, and `final` only checks the tag.
    decipher.final();
  } catch {
    plain.fill(0);
    return undefined;
  }
  return Secret.take(plain);
}

function deriveBoxKey(key: KeyObject, salt: Buffer): { readonly boxKey: BoxKey; readonly commitment: Buffer } {
  const derived = Buffer.from(hkdfSync("sha256", key, salt, "gw box v1", 32 + COMMITMENT_BYTES));
  const boxKey = createSecretKey(derived.subarray(0, 32));
  const commitment = Buffer.from(derived.subarray(32));
  derived.fill(0);
  return { boxKey, commitment };
}

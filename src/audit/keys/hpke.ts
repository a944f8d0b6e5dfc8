import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  diffieHellman,
  type KeyObject,
} from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import { publicKeyOf, rawPublicOf, takePrivateKey } from "./raw.ts";

/**
 * HPKE (RFC 9180) base mode, single shot, with X25519, HKDF-SHA256 and AES-256-GCM. Synchronous and over buffers that
 * are wiped here: what is wrapped is the seed of a segment, and no copy of it may outlive the call.
 */
export interface Sealed {
  readonly encapsulated: Buffer;
  readonly sealed: Buffer;
}

const TAG_BYTES = 16;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const VERSION = Buffer.from("HPKE-v1");
const KEM_SUITE = Buffer.from([...Buffer.from("KEM"), 0x00, 0x20]);
const HPKE_SUITE = Buffer.from([...Buffer.from("HPKE"), 0x00, 0x20, 0x00, 0x01, 0x00, 0x02]);
const EMPTY = Buffer.alloc(0);

export function sealFor(recipient: KeyObject, info: Buffer, aad: Buffer, plaintext: Buffer, random: Random): Sealed {
  const ephemeral = takePrivateKey("x25519", random.bytes(KEY_BYTES));
  const encapsulated = rawPublicOf("x25519", ephemeral);
  const shared = sharedSecret(ephemeral, recipient, encapsulated, rawPublicOf("x25519", recipient));
  const { key, nonce } = keySchedule(shared, info);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(aad);
  const sealed = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return { encapsulated, sealed };
}

/** Undefined when this key does not open it. The caller wipes what it gets. */
export function openSealed(
  recipient: KeyObject,
  { encapsulated, sealed }: Sealed,
  info: Buffer,
  aad: Buffer,
): Buffer | undefined {
  if (sealed.length < TAG_BYTES) return undefined;
  try {
    const sender = publicKeyOf("x25519", encapsulated);
    const shared = sharedSecret(recipient, sender, encapsulated, rawPublicOf("x25519", recipient));
    const { key, nonce } = keySchedule(shared, info);
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(aad);
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const plaintext = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

/** DHKEM: the same for both sides, given the private half of one and the public half of the other. */
function sharedSecret(mine: KeyObject, theirs: KeyObject, encapsulated: Buffer, recipientRaw: Buffer): Buffer {
  const secret = diffieHellman({ privateKey: mine, publicKey: theirs });
  const extracted = labeledExtract(KEM_SUITE, EMPTY, "eae_prk", secret);
  secret.fill(0);
  return wiping(extracted, (prk) =>
    labeledExpand(KEM_SUITE, prk, "shared_secret", Buffer.concat([encapsulated, recipientRaw]), KEY_BYTES),
  );
}

function keySchedule(shared: Buffer, info: Buffer): { readonly key: KeyObject; readonly nonce: Buffer } {
  const context = Buffer.concat([
    Buffer.from([0]),
    labeledExtract(HPKE_SUITE, EMPTY, "psk_id_hash", EMPTY),
    labeledExtract(HPKE_SUITE, EMPTY, "info_hash", info),
  ]);
  return wiping(
    wiping(shared, (salt) => labeledExtract(HPKE_SUITE, salt, "secret", EMPTY)),
    (secret) => ({
      key: wiping(labeledExpand(HPKE_SUITE, secret, "key", context, KEY_BYTES), createSecretKey),
      nonce: labeledExpand(HPKE_SUITE, secret, "base_nonce", context, NONCE_BYTES),
    }),
  );
}

function labeledExtract(suite: Buffer, salt: Buffer, label: string, material: Buffer): Buffer {
  return createHmac("sha256", salt).update(VERSION).update(suite).update(label).update(material).digest();
}

/** One block of HKDF-Expand: nothing here is longer than the hash. */
function labeledExpand(suite: Buffer, prk: Buffer, label: string, info: Buffer, length: number): Buffer {
  const block = createHmac("sha256", prk)
    .update(Buffer.from([0, length]))
    .update(VERSION)
    .update(suite)
    .update(label)
    .update(info)
    .update(Buffer.from([1]))
    .digest();
  const cut = Buffer.from(block.subarray(0, length));
  block.fill(0);
  return cut;
}

function wiping<Result>(bytes: Buffer, use: (bytes: Buffer) => Result): Result {
  try {
    return use(bytes);
  } finally {
    bytes.fill(0);
  }
}

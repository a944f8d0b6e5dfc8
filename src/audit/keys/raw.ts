import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import { Fault } from "../../kernel/failure.ts";

type Curve = "ed25519" | "x25519";

const KEY_BYTES = 32;
// RFC 8410 fixes these bytes; what follows them is the raw key.
const PRIVATE_PREFIX: Readonly<Record<Curve, Buffer>> = {
  ed25519: Buffer.from("302e020100300506032b657004220420", "hex"),
  x25519: Buffer.from("302e020100300506032b656e04220420", "hex"),
};
const PUBLIC_PREFIX: Readonly<Record<Curve, Buffer>> = {
  ed25519: Buffer.from("302a300506032b6570032100", "hex"),
  x25519: Buffer.from("302a300506032b656e032100", "hex"),
};

/** Takes the raw private key and wipes it. */
export function takePrivateKey(curve: Curve, raw: Buffer): KeyObject {
  const der = Buffer.concat([PRIVATE_PREFIX[curve], raw]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
    raw.fill(0);
  }
}

export function publicKeyOf(curve: Curve, raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX[curve], raw]), format: "der", type: "spki" });
}

/** The raw public half of a private or public key. */
export function rawPublicOf(curve: Curve, key: KeyObject): Buffer {
  if (key.asymmetricKeyType !== curve) throw new Fault(`an ${curve} key is needed here`);
  const half = key.type === "private" ? createPublicKey(key) : key;
  return Buffer.from(half.export({ format: "der", type: "spki" }).subarray(PUBLIC_PREFIX[curve].length));
}

/** Names a public key in the log: the first half of SHA-256 over its raw bytes. */
export function keyIdOf(rawPublic: Buffer): Buffer {
  return hash("sha256", rawPublic, "buffer").subarray(0, KEY_BYTES / 2);
}

export function signBytes(key: KeyObject, message: Buffer): Buffer {
  return sign(null, message, key);
}

const SIGNERS_KEPT = 16;
const signers = new Map<string, KeyObject>();

/** A log is signed by few keys, again and again: to make one of its bytes takes half as long as to check a signature. */
function signerOf(rawPublic: Buffer): KeyObject {
  const name = rawPublic.toString("latin1");
  const known = signers.get(name);
  if (known !== undefined) return known;
  const key = publicKeyOf("ed25519", rawPublic);
  if (signers.size >= SIGNERS_KEPT) signers.clear();
  signers.set(name, key);
  return key;
}

/** False for a bad signature and for bytes that are no key. */
export function isSignedBy(rawPublic: Buffer, message: Buffer, signature: Buffer): boolean {
  try {
    return verify(null, message, signerOf(rawPublic), signature);
  } catch {
    return false;
  }
}

import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import type { Brand } from "../kernel/brand.ts";
import { Fault } from "../kernel/failure.ts";

/** Names a public key: the first half of SHA-256 over its 32 raw bytes, in hex. */
export type KeyId = Brand<string, "KeyId">;

export const RAW_KEY_BYTES = 32;
export const KEY_ID = /^[0-9a-f]{32}$/;

type Curve = "ed25519" | "x25519";

// RFC 8410 fixes these bytes; what follows them is the raw key. DER keeps private halves in buffers that can be wiped.
const PRIVATE_PREFIX: Record<Curve, Buffer> = {
  ed25519: Buffer.from("302e020100300506032b657004220420", "hex"),
  x25519: Buffer.from("302e020100300506032b656e04220420", "hex"),
};
const PUBLIC_PREFIX: Record<Curve, Buffer> = {
  ed25519: Buffer.from("302a300506032b6570032100", "hex"),
  x25519: Buffer.from("302a300506032b656e032100", "hex"),
};

export function privateKeyOf(curve: Curve, raw: Buffer): KeyObject {
  const der = Buffer.concat([PRIVATE_PREFIX[curve], raw]);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

export function publicKeyOf(curve: Curve, raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX[curve], raw]), format: "der", type: "spki" });
}

/** The raw public half of a private or public key. */
export function rawPublicOf(key: KeyObject): Buffer {
  const half = key.type === "private" ? createPublicKey(key) : key;
  const der = half.export({ format: "der", type: "spki" });
  if (der.length !== PUBLIC_PREFIX.ed25519.length + RAW_KEY_BYTES) throw new Fault("not an Ed25519 or X25519 key");
  return Buffer.from(der.subarray(PUBLIC_PREFIX.ed25519.length));
}

export function keyIdOf(rawPublic: Buffer): KeyId {
  return createHash("sha256").update(rawPublic).digest("hex").slice(0, 32) as KeyId;
}

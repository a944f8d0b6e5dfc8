import { createPublicKey, type KeyObject } from "node:crypto";

const CURVES: readonly unknown[] = ["prime256v1", "secp384r1", "secp521r1"];
const RSA_BITS_MIN = 2_048;
const RSA_BITS_MAX = 8_192;

/** A public key that can check IMA signatures: RSA or a NIST curve. Undefined for any other bytes. */
export function readImageKey(spki: Buffer): KeyObject | undefined {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
  // One key has one form: what is not exactly its own encoding is not taken.
  if (!key.export({ format: "der", type: "spki" }).equals(spki)) return undefined;
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "rsa":
      return modulusLength >= RSA_BITS_MIN && modulusLength <= RSA_BITS_MAX ? key : undefined;
    case "ec":
      return CURVES.includes(namedCurve) ? key : undefined;
    default:
      return undefined;
  }
}

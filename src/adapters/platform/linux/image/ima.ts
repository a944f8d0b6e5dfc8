import { createPublicKey, createVerify, type KeyObject } from "node:crypto";
import { loadLibc } from "../libc.ts";
import { readChunks } from "./digest.ts";

/** A key that the operator trusts for IMA signatures, PEM. */
export interface ImaKey {
  readonly name: string;
  readonly pem: string;
}

export type ImaClaim =
  | { readonly kind: "valid"; readonly name: string; readonly keyId: string }
  /** A signature that none of the operator's keys made. */
  | { readonly kind: "stranger"; readonly keyId: string };

export interface ImaSignature {
  readonly algorithm: string;
  readonly keyId: string;
  readonly signature: Buffer;
}

const XATTR_LIMIT = 4_096;
const HEADER_BYTES = 9;
const IMA_XATTR_DIGSIG = 3;
const VERSION_2 = 2;
// The kernel's hash numbers; older and weaker ones are not taken.
const ALGORITHMS: Readonly<Record<number, string>> = { 4: "sha256", 5: "sha384", 6: "sha512" };

/**
 * The `security.ima` signature of the opened file, checked here against the operator's keys: the attribute alone proves
 * nothing, and whether the kernel appraises it cannot be read from outside. Null when there is none.
 */
export function checkIma(fd: number, keys: readonly ImaKey[]): ImaClaim | null {
  const value = Buffer.alloc(XATTR_LIMIT);
  const length = Number(loadLibc().fgetxattr(fd, "security.ima", value, value.length));
  if (length <= 0) return null;
  const found = parseIma(value.subarray(0, length));
  if (found === undefined) return null;
  for (const { name, pem } of keys) {
    const key = createPublicKey(pem);
    if (verify(fd, key, found)) return { kind: "valid", name, keyId: found.keyId };
  }
  return { kind: "stranger", keyId: found.keyId };
}

/** `signature_v2_hdr`: type, version, hash, key id (4 bytes), size (2 bytes), signature. */
export function parseIma(value: Buffer): ImaSignature | undefined {
  if (value.length < HEADER_BYTES || value[0] !== IMA_XATTR_DIGSIG || value[1] !== VERSION_2) return undefined;
  const algorithm = ALGORITHMS[value.readUInt8(2)];
  const size = value.readUInt16BE(7);
  if (algorithm === undefined || size === 0 || value.length !== HEADER_BYTES + size) return undefined;
  return { algorithm, keyId: value.toString("hex", 3, 7), signature: value.subarray(HEADER_BYTES) };
}

function verify(fd: number, key: KeyObject, { algorithm, signature }: ImaSignature): boolean {
  const verifier = createVerify(algorithm);
  for (const chunk of readChunks(fd)) verifier.update(chunk);
  return verifier.verify(key, signature);
}

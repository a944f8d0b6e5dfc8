import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke";
import { Secret } from "../kernel/secret.ts";
import { privateKeyOf, rawPublicOf } from "./keys.ts";

/**
 * The service key wrapped for one operator's public key (HPKE, RFC 9180): any operator can hand a new service key to
 * all of them without knowing another's passphrase. encapsulation(32) | ciphertext(32) | tag(16).
 */
export const WRAPPED_BYTES = 80;

const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM);

export async function wrapFor(rawPublic: Buffer, info: string, key: Secret): Promise<Buffer> {
  const recipient = await suite.DeserializePublicKey(rawPublic);
  const copy = key.use((bytes) => Buffer.from(bytes));
  try {
    const { encapsulatedSecret, ciphertext } = await suite.Seal(recipient, copy, { info: Buffer.from(info, "utf8") });
    return Buffer.concat([encapsulatedSecret, ciphertext]);
  } finally {
    copy.fill(0);
  }
}

/** Undefined when it was wrapped for another key or another place. */
export async function unwrapWith(rawPrivate: Buffer, info: string, wrapped: Buffer): Promise<Secret | undefined> {
  const rawPublic = rawPublicOf(privateKeyOf("x25519", rawPrivate));
  const mine = {
    privateKey: await suite.DeserializePrivateKey(rawPrivate, false),
    publicKey: await suite.DeserializePublicKey(rawPublic),
  };
  try {
    const plain = await suite.Open(mine, wrapped.subarray(0, 32), wrapped.subarray(32), {
      info: Buffer.from(info, "utf8"),
    });
    return Secret.take(Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength));
  } catch {
    return undefined;
  }
}

import { createPrivateKey, type KeyObject } from "node:crypto";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";

export const RSA_BITS_MIN = 2_048;

/** A private key as people keep it. `beside` says what else the same text holds; no byte of it is ever shown. */
export function readPemKey(given: Secret, beside = ""): KeyObject {
  try {
    return given.use((bytes) => createPrivateKey({ key: bytes, format: "pem" }));
  } catch {
    throw new Denied(
      "credential_invalid",
      `The private key cannot be read: it is expected in PEM, without a passphrase${beside}.`,
    );
  }
}

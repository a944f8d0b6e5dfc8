import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import type { Secret } from "../kernel/secret.ts";

export const SERVICE_KEY_BYTES = 32;

/** One key a purpose, so that no two uses of the service key can be played against each other. */
export type ServicePurpose = "credentials" | "manifest" | "state root" | "request key";

export function serviceSubkey(serviceKey: Secret, vaultId: string, purpose: ServicePurpose): KeyObject {
  return serviceKey.use((bytes) => expand(bytes, vaultId, `gw service v1 ${purpose}`));
}

/** Keys for what the gateway keeps elsewhere: MACs over state rows, sealed columns. */
export function stateSubkey(stateRoot: Secret, vaultId: string, purpose: string): KeyObject {
  return stateRoot.use((bytes) => expand(bytes, vaultId, `gw state v1 ${purpose}`));
}

export function macOver(key: KeyObject, text: string): Buffer {
  return createHmac("sha256", key).update(text, "utf8").digest();
}

function expand(bytes: Buffer, salt: string, info: string): KeyObject {
  const derived = Buffer.from(hkdfSync("sha256", bytes, salt, info, 32));
  try {
    return createSecretKey(derived);
  } finally {
    derived.fill(0);
  }
}

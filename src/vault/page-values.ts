import type { Digest } from "../kernel/canonical-json.ts";
import type { JsonValue } from "../kernel/json.ts";
import { KEY_ID, type KeyId } from "./keys.ts";
import { shapeOf } from "./shape.ts";

/** The values that stand all over vault.json, and what is said where one is not what it has to be. */
export const shape = shapeOf("vault_malformed", "vault.json");

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export function readKeyId(value: JsonValue | undefined, where: string): KeyId {
  return shape.text(value, where, 32, KEY_ID) as KeyId;
}

export function readDigest(value: JsonValue | undefined, where: string): Digest | null {
  return value === null ? null : (shape.text(value, where, 71, DIGEST) as Digest);
}

export function readTime(value: JsonValue | undefined, where: string): string {
  return shape.text(value, where, 24, TIME);
}

export function base64(bytes: Buffer): string {
  return bytes.toString("base64url");
}

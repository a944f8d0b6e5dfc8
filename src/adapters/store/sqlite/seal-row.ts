import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import type { Random } from "../../../kernel/clock.ts";
import type { JsonObject } from "../../../kernel/json.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Where a row stands. It is authenticated with the row, so that a row moved or relabelled does not open. */
export interface RowPlace {
  readonly table: string;
  readonly id: string;
  readonly runId: string;
  readonly state: string;
}

/** Seals a row under the state key: what it says is secret, and nobody without the key can make or change one. */
export function sealRow(key: KeyObject, place: RowPlace, body: JsonObject, random: Random): Buffer {
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(placeBytes(place));
  const sealed = cipher.update(JSON.stringify(body), "utf8");
  cipher.final();
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]);
}

/** Undefined when the row was changed, moved, relabelled or made by somebody else. */
export function openRow(key: KeyObject, place: RowPlace, sealed: Buffer): JsonObject | undefined {
  if (sealed.byteLength < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES));
  decipher.setAAD(placeBytes(place));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const body = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
    return JSON.parse(Buffer.concat([body, decipher.final()]).toString("utf8")) as JsonObject;
  } catch {
    return undefined;
  }
}

/** Members in canonical order, so that plain JSON is the canonical one. */
function placeBytes({ table, id, runId, state }: RowPlace): Buffer {
  return Buffer.from(JSON.stringify({ format: "gw.state/v1", id, run_id: runId, state, table }), "utf8");
}

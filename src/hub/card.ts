import type { KeyObject } from "node:crypto";
import { openSealed, sealFor } from "../audit/keys/hpke.ts";
import { publicKeyOf } from "../audit/keys/raw.ts";
import { canonicalJson, digestBytes } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";
import type { Speaker } from "./speaker.ts";
import { type CardStatement, readHubStatement, type SignedText, signHubWith } from "./statement.ts";

/** A question on its way to whoever may decide it: the record that the operator plane shows, and the head of the log. */
export interface SealedCard {
  readonly sealed: Buffer;
  readonly signed: SignedText;
}

export interface CardReader {
  readonly keyId: string;
  /** Raw X25519. */
  readonly readingKey: Buffer;
}

type Place = Pick<CardStatement, "hub_id" | "gateway" | "approval_id" | "vault_id">;

const INFO = Buffer.from("gw hub card v1");
const ENCAPSULATED_BYTES = 32;

/** Sealed for each reader apart, and signed as one, so that nobody swaps what one of them sees. */
export function sealCard(
  place: Place,
  content: JsonObject,
  readers: readonly CardReader[],
  identity: KeyObject,
  random: Random,
): SealedCard {
  const plain = Buffer.from(JSON.stringify(content), "utf8");
  const boxes = readers.map(({ keyId, readingKey }) => {
    const { encapsulated, sealed } = sealFor(publicKeyOf("x25519", readingKey), INFO, aadOf(place), plain, random);
    return [keyId, Buffer.concat([encapsulated, sealed]).toString("base64")] as const;
  });
  const sealed = Buffer.from(JSON.stringify(Object.fromEntries(boxes)), "utf8");
  const statement: CardStatement = { format: "gw.hub-card/v1", ...place, sealed_digest: digestBytes(sealed) };
  return { sealed, signed: signHubWith(statement, identity) };
}

/** Undefined for what this gateway did not sign for this very question, or did not seal for this reader. */
export function openCard(
  { sealed, signed }: SealedCard,
  { hubId: hub_id, gateway, vaultId: vault_id, identityKey }: Speaker,
  approvalId: string,
  reader: { readonly keyId: string; readonly readingKey: KeyObject },
): JsonObject | undefined {
  const statement = readHubStatement<CardStatement>(signed, "gw.hub-card/v1", identityKey);
  const place = { hub_id, gateway, approval_id: approvalId, vault_id };
  const wanted: CardStatement = { format: "gw.hub-card/v1", ...place, sealed_digest: digestBytes(sealed) };
  if (statement === undefined || canonicalJson(statement) !== canonicalJson(wanted)) return undefined;
  const boxes = parseObject(sealed);
  const box = Buffer.from(String(boxes?.[reader.keyId] ?? ""), "base64");
  const parts = { encapsulated: box.subarray(0, ENCAPSULATED_BYTES), sealed: box.subarray(ENCAPSULATED_BYTES) };
  const plain = openSealed(reader.readingKey, parts, INFO, aadOf(place));
  return plain === undefined ? undefined : parseObject(plain);
}

function parseObject(bytes: Buffer): JsonObject | undefined {
  if (bytes.length > defaults.hubCardBytes) return undefined;
  try {
    const value = JSON.parse(bytes.toString("utf8")) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function aadOf({ hub_id, gateway, approval_id, vault_id }: Place): Buffer {
  return Buffer.from(canonicalJson({ hub_id, gateway, approval_id, vault_id }), "utf8");
}

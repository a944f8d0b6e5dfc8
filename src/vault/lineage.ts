import { createHash, verify } from "node:crypto";
import { canonicalJson, type Digest, digestJson } from "../kernel/canonical-json.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { JsonObject } from "../kernel/json.ts";
import { type KeyId, keyIdOf, publicKeyOf } from "./keys.ts";

/**
 * Who is an operator, as a chain of signed changes. The first record is self-signed and its key names the vault; each
 * later one is signed by someone who is an operator at that point. So neither the gateway nor a removed operator can
 * make one, and a reader that remembers a head finds every fork.
 */
export type LineageRecord = AdmitRecord | RemoveRecord;

export interface AdmitRecord extends LineageStep {
  readonly change: "admit";
  readonly name: string;
  readonly approverKey: Buffer;
  readonly readingKey: Buffer;
  readonly wrappingKey: Buffer;
}

export interface RemoveRecord extends LineageStep {
  readonly change: "remove";
}

interface LineageStep {
  readonly keyId: KeyId;
  readonly by: KeyId;
  readonly at: string;
  readonly previous: Digest | null;
  readonly signature: Buffer;
}

/** An operator's public half: what the gateway, the log and another operator may know. */
export interface OperatorKeys {
  readonly name: string;
  readonly keyId: KeyId;
  readonly approverKey: Buffer;
  readonly readingKey: Buffer;
  readonly wrappingKey: Buffer;
}

export type Unsigned<Signed extends { readonly signature: Buffer }> = Signed extends unknown
  ? Omit<Signed, "signature">
  : never;

const OPERATOR_NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/;
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const VAULT_ID_DIGITS = 26;

export const VAULT_ID = new RegExp(`^vlt_[${ALPHABET}]{${VAULT_ID_DIGITS}}$`);

/** The vault is named by the key that founded it, so a file with another founder is another vault. */
export function vaultIdOf(founderKey: Buffer): string {
  const hash = createHash("sha256").update("gw vault id v1\0").update(founderKey).digest();
  let id = "vlt_";
  for (let digit = 0; digit < VAULT_ID_DIGITS; digit++) id += ALPHABET.charAt((hash[digit] ?? 0) & 31);
  return id;
}

export function checkOperatorName(name: string): void {
  if (OPERATOR_NAME.test(name)) return;
  throw new Denied(
    "operator_name_invalid",
    "An operator's name is 1 to 32 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit.",
  );
}

/** The bytes an operator signs to change who is one. */
export function lineageBytes(vaultId: string, record: Unsigned<LineageRecord>): Buffer {
  return Buffer.from(`gw vault lineage v1\0${vaultId}\0${canonicalJson(lineagePage(record))}`, "utf8");
}

export function lineageHead(record: LineageRecord): Digest {
  return digestJson({ ...lineagePage(record), signature: record.signature.toString("base64url") });
}

export function lineagePage(record: Unsigned<LineageRecord>): JsonObject {
  const step = { change: record.change, key_id: record.keyId, by: record.by, at: record.at, previous: record.previous };
  if (record.change === "remove") return step;
  return {
    ...step,
    name: record.name,
    approver_key: record.approverKey.toString("base64url"),
    reading_key: record.readingKey.toString("base64url"),
    wrapping_key: record.wrappingKey.toString("base64url"),
  };
}

/** The operators of today, or a refusal that names the record which does not follow. */
export function foldLineage(vaultId: string, records: readonly LineageRecord[]): readonly OperatorKeys[] {
  const founder = records[0];
  if (founder?.change !== "admit" || vaultIdOf(founder.approverKey) !== vaultId) refuse(0, "the founder is another");
  if (records.length > defaults.vaultLineage) refuse(records.length, "there are too many");
  const active = new Map<KeyId, OperatorKeys>();
  const seen = new Set<KeyId>();
  let previous: Digest | null = null;
  for (const [index, record] of records.entries()) {
    if (record.previous !== previous) refuse(index, "it follows another record");
    const signer = index === 0 && record.change === "admit" ? record : active.get(record.by);
    if (signer === undefined || signer.keyId !== record.by) refuse(index, "its signer was no operator");
    const bytes = lineageBytes(vaultId, record);
    if (!verify(null, bytes, publicKeyOf("ed25519", signer.approverKey), record.signature)) {
      refuse(index, "its signature is wrong");
    }
    if (record.change === "admit") {
      if (keyIdOf(record.approverKey) !== record.keyId || seen.has(record.keyId)) refuse(index, "its key is not new");
      if (!OPERATOR_NAME.test(record.name)) refuse(index, "its name is not one");
      if ([...active.values()].some(({ name }) => name === record.name)) refuse(index, "its name is taken");
      const { name, keyId, approverKey, readingKey, wrappingKey } = record;
      active.set(keyId, { name, keyId, approverKey, readingKey, wrappingKey });
      seen.add(keyId);
    } else if (!active.delete(record.keyId) || active.size === 0) {
      refuse(index, "it removes nobody, or the last one");
    }
    previous = lineageHead(record);
  }
  return [...active.values()];
}

function refuse(index: number, why: string): never {
  throw new Denied(
    "vault_tampered",
    `The vault's list of operators does not hold: record ${index}, ${why}. Restore a copy of vault.json you trust.`,
  );
}

import type { KeyObject } from "node:crypto";
import { createHmac } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { type EntryExtras, extrasMember } from "./extras.ts";
import { stateSubkey } from "./service-key.ts";
import { exchangeMember } from "./token/exchange.ts";
import type { CredentialEntry, RetiredSecret, Vault } from "./vault.ts";

/** Everything of an entry that decides where its secret may go and how: sealed with it, so none can change alone. */
export type EntryBinding = EntryExtras &
  Pick<CredentialEntry, "label" | "kind" | "version" | "boundTo" | "eachUse" | "headerName" | "publicKey" | "exchange">;

export function entryAad(vaultId: string, entry: EntryBinding): string {
  return canonicalJson({
    format: "gw.vault/v1",
    vault_id: vaultId,
    compartment: "service",
    label: entry.label,
    kind: entry.kind,
    version: entry.version,
    bound_to: entry.boundTo,
    each_use: entry.eachUse,
    header_name: entry.headerName,
    public_key: entry.publicKey,
    ...exchangeMember(entry.exchange),
    ...extrasMember(entry),
  });
}

export function sealEntry(
  key: KeyObject,
  vaultId: string,
  entry: EntryBinding,
  secret: Secret,
  random: Random,
): Buffer {
  return secret.use((bytes) => seal(key, entryAad(vaultId, entry), bytes, random));
}

export function openEntry(key: KeyObject, vaultId: string, entry: CredentialEntry): Secret {
  return unseal(key, entryAad(vaultId, entry), entry.sealed) ?? refuseEntry(entry.label);
}

export function refuseEntry(label: string): never {
  throw new Denied(
    "vault_tampered",
    `The sealed secret of ${label} is not the one that was bound there. Restore a copy of vault.json you trust.`,
  );
}

/** Knows an old secret again without keeping it; keyed, so that a short one cannot be guessed from the file. */
export function retiredDigest(stateRoot: Secret, vaultId: string, label: string, secret: Secret): Buffer {
  const key = stateSubkey(stateRoot, vaultId, "retired secrets");
  return secret.use((bytes) => createHmac("sha256", key).update(`${label}\0`, "utf8").update(bytes).digest());
}

export function wasUsedBefore(retired: readonly RetiredSecret[], digest: Buffer): boolean {
  return retired.some((old) => old.digest.equals(digest));
}

export function findEntry(vault: Vault, label: string): CredentialEntry {
  const entry = vault.credentials.find((one) => one.label === label);
  if (entry === undefined)
    throw new Denied("credential_unknown", `The vault holds no credential ${label}: gw credential list.`);
  return entry;
}

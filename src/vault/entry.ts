import type { KeyObject } from "node:crypto";
import { createHmac } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { type EntryExtras, extrasMember } from "./extras.ts";
import { openForReader, sealForReaders } from "./readers-box.ts";
import { serviceSubkey, stateSubkey } from "./service-key.ts";
import { exchangeMember } from "./token/exchange.ts";
import type { CredentialEntry, RetiredSecret, Vault } from "./vault.ts";

/** Everything of an entry that decides where its secret may go and how: sealed with it, so none can change alone. */
export type EntryBinding = EntryExtras &
  Pick<CredentialEntry, "label" | "kind" | "version" | "boundTo" | "eachUse" | "headerName" | "publicKey" | "exchange">;

/** Tells a secret from every other that its label ever had: a credential that is added anew begins at version 1 once more. */
export type SecretVersion = `${number} of ${string}`;

export function secretVersion({ version, createdAt }: Pick<CredentialEntry, "version" | "createdAt">): SecretVersion {
  return `${version} of ${createdAt}`;
}

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

/** Who opens an entry, and for whom it is sealed. */
export interface EntryKeys {
  /** Derived from the service key. */
  readonly key: KeyObject;
  /** Raw reading keys of the operators: they open what is lent by some gateways alone. */
  readonly operators: readonly Buffer[];
  /** The reader's own half. */
  readonly readingKey: KeyObject;
}

/** As an operator has them. */
export function entryKeys(
  { vaultId, operators }: Pick<Vault, "vaultId" | "operators">,
  { serviceKey, readingKey }: { readonly serviceKey: Secret; readonly readingKey: KeyObject },
): EntryKeys {
  const key = serviceSubkey(serviceKey, vaultId, "credentials");
  return { key, operators: operators.map((one) => one.readingKey), readingKey };
}

export function sealEntry(
  { key, operators }: Pick<EntryKeys, "key" | "operators">,
  vaultId: string,
  entry: EntryBinding,
  secret: Secret,
  random: Random,
): Buffer {
  const aad = entryAad(vaultId, entry);
  const { lenders } = entry;
  if (lenders === null) return secret.use((bytes) => seal(key, aad, bytes, random));
  const readers = [...lenders.map((one) => one.key), ...operators];
  return seal(
    key,
    aad,
    secret.use((bytes) => sealForReaders(readers, aad, bytes, random)),
    random,
  );
}

export function openEntry({ key, readingKey }: EntryKeys, vaultId: string, entry: CredentialEntry): Secret {
  const plain = unseal(key, entryAad(vaultId, entry), entry.sealed) ?? refuseEntry(entry.label);
  return entry.lenders === null ? plain : openLent(plain, vaultId, entry, readingKey);
}

/** What is under the service key's box where some gateways alone may lend it. Takes `outer`. */
export function openLent(outer: Secret, vaultId: string, entry: CredentialEntry, reader: KeyObject | null): Secret {
  using sealed = outer;
  const opened =
    reader === null ? undefined : sealed.use((bytes) => openForReader(reader, entryAad(vaultId, entry), bytes));
  if (opened !== undefined) return opened;
  const names = (entry.lenders ?? []).map(({ gateway }) => gateway).join(", ");
  throw new Denied(
    "credential_elsewhere",
    `${entry.label} is lent by ${names} alone, and sealed to those gateways and the operators of that time. Call it there, or sign it for another one: gw credential lend ${entry.label} --gateway NAME`,
  );
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

/** That it is there, and no other one goes with it. */
export function requireUnneeded(vault: Vault, label: string): void {
  findEntry(vault, label);
  const needed = vault.credentials.find((entry) => entry.withCertificate === label);
  if (needed !== undefined)
    throw new Denied(
      "credential_invalid",
      `${needed.label} goes with the certificate ${label}: remove that one first.`,
    );
}

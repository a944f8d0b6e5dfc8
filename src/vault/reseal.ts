import type { Random } from "../kernel/clock.ts";
import type { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { entryAad, entryKeys, openEntry, refuseEntry, sealEntry } from "./entry.ts";
import type { OperatorKeys } from "./lineage.ts";
import type { OpenOperator } from "./operator.ts";
import { serviceSubkey } from "./service-key.ts";
import type { CredentialEntry, Vault } from "./vault.ts";

/** Every secret under another service key, for when someone who knew the old one is no longer an operator. */
export function resealCredentials(
  vault: Vault,
  oldServiceKey: Secret,
  newServiceKey: Secret,
  random: Random,
): readonly CredentialEntry[] {
  const oldKey = serviceSubkey(oldServiceKey, vault.vaultId, "credentials");
  const newKey = serviceSubkey(newServiceKey, vault.vaultId, "credentials");
  return vault.credentials.map((entry) => {
    // What some gateways alone may lend stays sealed to them underneath.
    const aad = entryAad(vault.vaultId, entry);
    using plain = unseal(oldKey, aad, entry.sealed) ?? refuseEntry(entry.label);
    return { ...entry, sealed: plain.use((bytes) => seal(newKey, aad, bytes, random)) };
  });
}

/** The same secrets for operators as they will be: one who comes later opens what some gateways alone may lend, too. */
export function shareLent(
  vault: Vault,
  by: OpenOperator,
  operators: readonly OperatorKeys[],
  random: Random,
): readonly CredentialEntry[] {
  const keys = entryKeys(vault, by);
  const next = { key: keys.key, operators: operators.map(({ readingKey }) => readingKey) };
  return vault.credentials.map((entry) => {
    if (entry.lenders === null) return entry;
    using secret = openEntry(keys, vault.vaultId, entry);
    return { ...entry, sealed: sealEntry(next, vault.vaultId, entry, secret, random) };
  });
}

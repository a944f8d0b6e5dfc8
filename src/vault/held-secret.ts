import type { KeyObject } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Secret } from "../kernel/secret.ts";
import { openForReader, sealForReaders } from "./readers-box.ts";
import type { Vault } from "./vault.ts";

/** A secret that an answer brought, and the credential that it was asked for with. */
export interface HeldSecret {
  readonly id: string;
  readonly credential: string | null;
  readonly text: string;
}

/**
 * For the gateways that may lend that credential, and the operators: whoever may not have the one shall not have what it brought.
 * Null where every gateway of the vault may.
 */
export function sealHeld(
  { vaultId, credentials, operators }: Pick<Vault, "vaultId" | "credentials" | "operators">,
  { id, credential, text }: HeldSecret,
  own: Buffer | null,
  random: Random,
): Buffer | null {
  if (credential === null) return null;
  const entry = credentials.find(({ label }) => label === credential);
  if (entry?.lenders === null) return null;
  // Of one that is gone nobody knows any more who else might.
  const lenders = entry?.lenders.map(({ key }) => key) ?? (own === null ? [] : [own]);
  const readers = [...lenders, ...operators.map(({ readingKey }) => readingKey)];
  using secret = Secret.fromText(text);
  return secret.use((bytes) => sealForReaders(readers, aadOf(vaultId, id), bytes, random));
}

/** Whether a gateway of that name may lend it. Of one that is gone nobody knows any more. */
export function mayLend({ credentials }: Pick<Vault, "credentials">, label: string, gateway: string): boolean {
  const lenders = credentials.find((entry) => entry.label === label)?.lenders ?? null;
  return lenders === null || lenders.some((one) => one.gateway === gateway);
}

/** Undefined where this key is none of them. */
export function openHeld(reader: KeyObject, vaultId: string, id: string, sealed: Buffer): Secret | undefined {
  return openForReader(reader, aadOf(vaultId, id), sealed);
}

function aadOf(vaultId: string, id: string): string {
  return canonicalJson({ format: "gw.held-secret/v1", vault_id: vaultId, id });
}

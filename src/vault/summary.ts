import type { SecretSource } from "./source/source.ts";
import { endOfCertificate } from "./tls/certificate.ts";
import type { TokenExchange } from "./token/exchange.ts";
import type { CredentialEntry, CredentialKind, Vault } from "./vault.ts";

/** A credential as lists and cards show it. */
export interface CredentialSummary {
  readonly label: string;
  readonly kind: CredentialKind;
  readonly version: number;
  readonly boundTo: readonly string[];
  readonly eachUse: boolean;
  readonly state: "enabled" | "disabled" | "suspended";
  readonly headerName: string | null;
  readonly publicKey: string | null;
  readonly exchange: TokenExchange | null;
  readonly keyId: string | null;
  readonly withCertificate: string | null;
  readonly source: SecretSource | null;
  /** The gateways that may lend it; null for every gateway of the vault. */
  readonly lenders: readonly string[] | null;
  /** When its certificate ends, of kind mtls. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly rotatedAt: string;
  readonly retiredVersions: readonly number[];
}

export function summariesOf(vault: Vault): readonly CredentialSummary[] {
  return vault.credentials.map((entry) => {
    const { label, kind, version, boundTo, eachUse, headerName, publicKey, exchange, createdAt, rotatedAt } = entry;
    const { keyId, withCertificate, source, certificate, lenders } = entry;
    const retiredVersions = entry.retired.map((old) => old.version);
    const state = stateOf(vault, entry);
    return {
      label,
      kind,
      version,
      boundTo,
      eachUse,
      state,
      headerName,
      publicKey,
      exchange,
      keyId,
      withCertificate,
      source,
      lenders: lenders?.map(({ gateway }) => gateway) ?? null,
      expiresAt: certificate === null ? null : endOfCertificate(certificate),
      createdAt,
      rotatedAt,
      retiredVersions,
    };
  });
}

/** A suspension is noted outside of what an operator signed, since the gateway itself sets it. */
export function stateOf(vault: Vault, { label, version, disabled }: CredentialEntry): CredentialSummary["state"] {
  if (disabled) return "disabled";
  const noted = vault.notes.suspended.some((one) => one.label === label && one.version === version);
  return noted ? "suspended" : "enabled";
}

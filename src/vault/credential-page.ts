import { defaults } from "../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../kernel/json.ts";
import { BOX_OVERHEAD_BYTES } from "./box.ts";
import { EXTRA_MEMBERS, extrasMember, MOST_LENDERS, readExtras } from "./extras.ts";
import { base64, readTime, shape } from "./page-values.ts";
import { readersBoxBytes } from "./readers-box.ts";
import { exchangeMember, isExchanged, readExchangePage } from "./token/exchange.ts";
import { CREDENTIAL_KINDS, type CredentialEntry } from "./vault.ts";

/** One credential as vault.json has it, and back. */
export function credentialPage(entry: CredentialEntry): JsonObject {
  return {
    label: entry.label,
    kind: entry.kind,
    version: entry.version,
    bound_to: entry.boundTo,
    each_use: entry.eachUse,
    disabled: entry.disabled,
    header_name: entry.headerName,
    public_key: entry.publicKey,
    created_at: entry.createdAt,
    rotated_at: entry.rotatedAt,
    retired: entry.retired.map(({ version, digest }) => ({ version, digest: base64(digest) })),
    sealed: base64(entry.sealed),
    ...exchangeMember(entry.exchange),
    ...extrasMember(entry),
  };
}

const ENTRY_MEMBERS = [
  "label",
  "kind",
  "version",
  "bound_to",
  "each_use",
  "disabled",
  "header_name",
  "public_key",
  "created_at",
  "rotated_at",
  "retired",
  "sealed",
] as const;

export function readCredential(value: JsonValue, where: string): CredentialEntry {
  const entry = shape.members(value, where, ENTRY_MEMBERS, ["exchange", ...EXTRA_MEMBERS]);
  const kind = shape.oneOf(entry.kind, `${where}/kind`, CREDENTIAL_KINDS);
  if (isExchanged(kind) !== (entry.exchange !== undefined))
    shape.refuse(`${where}/exchange`, `as the kind ${kind} has it`);
  return {
    label: shape.text(entry.label, `${where}/label`, 64),
    kind,
    version: shape.integer(entry.version, `${where}/version`, 1, Number.MAX_SAFE_INTEGER),
    boundTo: shape.list(entry.bound_to, `${where}/bound_to`, defaults.vaultBindings, (item, at) =>
      shape.text(item, at, 4_096),
    ),
    eachUse: shape.flag(entry.each_use, `${where}/each_use`),
    disabled: shape.flag(entry.disabled, `${where}/disabled`),
    headerName: entry.header_name === null ? null : shape.text(entry.header_name, `${where}/header_name`, 64),
    publicKey: entry.public_key === null ? null : shape.text(entry.public_key, `${where}/public_key`, 4_096),
    exchange: entry.exchange === undefined ? null : readExchangePage(shape, entry.exchange, `${where}/exchange`),
    ...readExtras(shape, entry, where),
    createdAt: readTime(entry.created_at, `${where}/created_at`),
    rotatedAt: readTime(entry.rotated_at, `${where}/rotated_at`),
    retired: shape.list(entry.retired, `${where}/retired`, defaults.vaultRetired, (item, at) => {
      const retired = shape.members(item, at, ["version", "digest"]);
      return {
        version: shape.integer(retired.version, `${at}/version`, 1, Number.MAX_SAFE_INTEGER),
        digest: shape.bytes(retired.digest, `${at}/digest`, 32, 32),
      };
    }),
    sealed: shape.bytes(
      entry.sealed,
      `${where}/sealed`,
      BOX_OVERHEAD_BYTES,
      BOX_OVERHEAD_BYTES + readersBoxBytes(MOST_LENDERS + defaults.vaultOperators, defaults.secretBytes),
    ),
  };
}

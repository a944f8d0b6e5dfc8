import { parseJsonValue } from "../../../conventions/request/json/parse.ts";
import { isPrivateHost } from "../../../conventions/url/origin.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { SecretSource } from "../../../vault/source/source.ts";
import { readGivenFile } from "../read-given-file.ts";

/** Where a secret is kept instead of here, as an operator says it on the command line. */
export interface SourceOptions {
  readonly sourceCommand?: string;
  readonly sourceSystemd?: string;
  readonly sourceVault?: string;
  readonly sourceField?: string;
  readonly sourceRole?: string;
  readonly sourceAuthMount?: string;
  readonly lease?: number;
  readonly ca?: string;
  readonly privateNetwork?: boolean;
}

/** Undefined where the secret is sealed here, as is usual. */
export function readSourceOptions(options: SourceOptions): SecretSource | undefined {
  const { sourceCommand, sourceSystemd, sourceVault, lease: leaseS = defaults.sourceLeaseS } = options;
  const given = [sourceCommand, sourceSystemd, sourceVault].filter((one) => one !== undefined);
  if (given.length > 1) invalid("A secret has one source.");
  const { sourceField, sourceRole, sourceAuthMount } = options;
  if (sourceVault === undefined && [sourceField, sourceRole, sourceAuthMount].some((one) => one !== undefined))
    invalid("--source-field, --source-role and --source-auth-mount are for --source-vault.");
  if (given.length === 0 && options.lease !== undefined) invalid("--lease is for a secret with a source.");
  if (sourceCommand !== undefined) return { kind: "command", argv: readArguments(sourceCommand), leaseS };
  if (sourceSystemd !== undefined) return { kind: "systemd", name: sourceSystemd, leaseS };
  if (sourceVault === undefined) return undefined;
  const { ca } = options;
  const isPrivate = options.privateNetwork === true || isPrivateHost(URL.parse(sourceVault)?.hostname ?? "");
  return {
    kind: "vault-kv",
    url: sourceVault,
    field: sourceField ?? "value",
    roleId: sourceRole ?? null,
    authMount: sourceAuthMount ?? "approle",
    ca:
      ca === undefined ? null : readGivenFile(ca, defaults.tokenAuthorityBytes, "credential_invalid").toString("utf8"),
    network: isPrivate ? "private" : "public",
    leaseS,
  };
}

function readArguments(text: string): readonly string[] {
  try {
    const value = parseJsonValue(Buffer.from(text, "utf8"));
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  } catch {
    // Said below.
  }
  return invalid(`--source-command is a JSON list, such as '["/usr/bin/pass", "show", "acme/token"]'.`);
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}

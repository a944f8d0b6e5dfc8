import { parseJsonValue } from "../../../../packages/request/src/json/parse.ts";
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
  readonly sourceVaultDynamic?: string;
  readonly sourceConnect?: string;
  readonly sourceAws?: string;
  readonly sourceName?: string;
  readonly region?: string;
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
  const { sourceVaultDynamic, sourceConnect, sourceAws } = options;
  const remote = [sourceVault, sourceVaultDynamic, sourceConnect, sourceAws];
  const given = [sourceCommand, sourceSystemd, ...remote].filter((one) => one !== undefined);
  if (given.length > 1) invalid("A secret has one source.");
  const { sourceField, sourceRole, sourceAuthMount, sourceName } = options;
  const some = (...texts: (string | undefined)[]): boolean => texts.some((one) => one !== undefined);
  if (!some(sourceVault, sourceVaultDynamic) && some(sourceRole, sourceAuthMount))
    invalid("--source-role and --source-auth-mount are for --source-vault and --source-vault-dynamic.");
  if (!some(...remote) && some(sourceField)) invalid("--source-field is for a source that is asked over the network.");
  if (sourceAws === undefined && some(sourceName)) invalid("--source-name is for --source-aws.");
  if (given.length === 0 && options.lease !== undefined) invalid("--lease is for a secret with a source.");
  if (sourceCommand !== undefined) return { kind: "command", argv: readArguments(sourceCommand), leaseS };
  if (sourceSystemd !== undefined) return { kind: "systemd", name: sourceSystemd, leaseS };
  const url = remote.find((one) => one !== undefined);
  if (url === undefined) return undefined;
  const { ca } = options;
  const isPrivate = options.privateNetwork === true || isPrivateHost(URL.parse(url)?.hostname ?? "");
  const reached = {
    url,
    ca:
      ca === undefined ? null : readGivenFile(ca, defaults.tokenAuthorityBytes, "credential_invalid").toString("utf8"),
    network: isPrivate ? "private" : "public",
    leaseS,
  } as const;
  if (sourceAws !== undefined)
    return {
      ...{ kind: "aws-secret", ...reached, field: sourceField ?? "" },
      ...{ name: sourceName ?? "", region: options.region ?? "" },
    };
  if (sourceConnect !== undefined) return { kind: "connect", ...reached, field: sourceField ?? "password" };
  return {
    kind: sourceVault === undefined ? "vault-dynamic" : "vault-kv",
    ...reached,
    field: sourceField ?? (sourceVault === undefined ? "username:password" : "value"),
    roleId: sourceRole ?? null,
    authMount: sourceAuthMount ?? "approle",
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

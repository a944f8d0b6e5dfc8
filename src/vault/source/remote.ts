import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { PageShape } from "../shape.ts";

interface Reached {
  readonly url: string;
  /** The member that holds the secret. */
  readonly field: string;
  readonly ca: string | null;
  readonly network: "public" | "private";
  readonly leaseS: number;
}

/** A secret in the KV version 2 engine of HashiCorp Vault or OpenBao, or one that an engine there makes for a while. */
export interface VaultSource extends Reached {
  /** As its API has it: https://HOST/v1/MOUNT/data/PATH, or https://HOST/v1/MOUNT/creds/ROLE */
  readonly kind: "vault-kv" | "vault-dynamic";
  /** The role that logs in with the sealed secret_id; null where a token is sealed. */
  readonly roleId: string | null;
  readonly authMount: string;
}

/** An item of 1Password, through a Connect server: https://HOST/v1/vaults/UUID/items/UUID */
export interface ConnectSource extends Reached {
  readonly kind: "connect";
}

/** A secret of AWS Secrets Manager; `field` is a member of it where it is JSON, and empty for the whole. */
export interface AwsSecretSource extends Reached {
  readonly kind: "aws-secret";
  readonly region: string;
  readonly name: string;
}

/** A place that is asked over the network, with what is sealed. */
export type RemoteSource = VaultSource | ConnectSource | AwsSecretSource;

export const REMOTE_KINDS = ["vault-kv", "vault-dynamic", "connect", "aws-secret"] as const;

export function isRemote<Source extends { readonly kind: string }>(
  source: Source | RemoteSource,
): source is Extract<Source | RemoteSource, RemoteSource> {
  return (REMOTE_KINDS as readonly string[]).includes(source.kind);
}

const REACHED = ["kind", "url", "field", "ca", "network", "lease_s"] as const;

export function remotePage(source: RemoteSource): JsonObject {
  const { kind, url, field, ca, network, leaseS } = source;
  const reached = { kind, url, field, ca, network, lease_s: leaseS };
  switch (source.kind) {
    case "vault-kv":
    case "vault-dynamic":
      return { ...reached, role_id: source.roleId, auth_mount: source.authMount };
    case "connect":
      return reached;
    case "aws-secret":
      return { ...reached, region: source.region, name: source.name };
  }
}

export function readRemotePage(
  shape: PageShape,
  value: JsonValue,
  where: string,
  kind: RemoteSource["kind"],
  leaseS: number,
): RemoteSource {
  const text = (member: JsonValue, name: string, most: number): string => shape.text(member, `${where}/${name}`, most);
  const reached = (page: Readonly<Record<(typeof REACHED)[number], JsonValue>>): Reached => ({
    url: text(page.url, "url", 2_048),
    field: text(page.field, "field", 256),
    ca: page.ca === null ? null : text(page.ca, "ca", defaults.tokenAuthorityBytes),
    network: shape.oneOf(page.network, `${where}/network`, ["public", "private"]),
    leaseS,
  });
  switch (kind) {
    case "vault-kv":
    case "vault-dynamic": {
      const page = shape.members(value, where, [...REACHED, "role_id", "auth_mount"]);
      const roleId = page.role_id === null ? null : text(page.role_id, "role_id", 256);
      return { kind, ...reached(page), roleId, authMount: text(page.auth_mount, "auth_mount", 256) };
    }
    case "connect":
      return { kind, ...reached(shape.members(value, where, REACHED)) };
    case "aws-secret": {
      const page = shape.members(value, where, [...REACHED, "region", "name"]);
      return { kind, ...reached(page), region: text(page.region, "region", 64), name: text(page.name, "name", 2_048) };
    }
  }
}

const WORD = /^[\x21-\x7e]+$/;
const WORDS = /^[\x20-\x7e]*$/;
const MOUNT = /^[A-Za-z0-9_-]{1,64}(\/[A-Za-z0-9_-]{1,64}){0,3}$/;
const KV_PATH = /^\/v1\/[A-Za-z0-9._~/-]+\/data\/[A-Za-z0-9._~/-]+$/;
const DYNAMIC_PATH = /^\/v1\/[A-Za-z0-9._~/-]+$/;
const ITEM_PATH = /^\/v1\/vaults\/[a-z0-9]{10,64}\/items\/[a-z0-9]{10,64}$/;
const REGION = /^[a-z0-9-]{1,64}$/;
const SECRET_NAME = /^[A-Za-z0-9/_+=.@:-]{1,2048}$/;
const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** What is wrong with what an operator says of such a place; null where nothing is. */
export function remoteTrouble(source: RemoteSource): string | null {
  const url = URL.parse(source.url);
  const guarded = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
  const path = guarded && url.href === source.url && url.search === "" && url.hash === "" ? url.pathname : "";
  switch (source.kind) {
    case "vault-kv":
    case "vault-dynamic": {
      if (source.kind === "vault-kv" && !KV_PATH.test(path))
        return "--source-vault is https://HOST/v1/MOUNT/data/PATH, the address of a secret in a KV version 2 engine.";
      if (!DYNAMIC_PATH.test(path))
        return "--source-vault-dynamic is an address such as https://HOST/v1/database/creds/ROLE.";
      if (!WORD.test(source.field)) return "--source-field names the member of the secret.";
      if (source.roleId !== null && !WORD.test(source.roleId)) return "--source-role is the role_id of an AppRole.";
      return MOUNT.test(source.authMount) ? null : "--source-auth-mount is a path such as approle.";
    }
    case "connect":
      if (!ITEM_PATH.test(path))
        return "--source-connect is https://HOST/v1/vaults/UUID/items/UUID, an item of 1Password.";
      return source.field !== "" && WORDS.test(source.field) ? null : "--source-field is the label or id of a field.";
    case "aws-secret":
      if (path !== "/") return "--source-aws is an endpoint such as https://secretsmanager.eu-west-1.amazonaws.com/";
      if (!REGION.test(source.region)) return "--source-aws needs --region, such as eu-west-1.";
      if (!SECRET_NAME.test(source.name)) return "--source-aws needs --source-name, the name or ARN of the secret.";
      return WORDS.test(source.field) ? null : "--source-field is a member of the secret's JSON.";
  }
}

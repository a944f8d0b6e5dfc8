import { isAbsolute } from "node:path";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { PageShape } from "../shape.ts";

/**
 * Where a secret is got that is kept elsewhere: pinned when the credential was added, signed, and sealed with what opens the
 * place. What comes from there is kept for the lease and no longer.
 */
export type SecretSource = LocalSource | VaultSource;

/** Something on this machine. */
export type LocalSource =
  /** A fixed program with fixed arguments; its standard output is the secret. */
  | { readonly kind: "command"; readonly argv: readonly string[]; readonly leaseS: number }
  /** A credential that systemd gave the gateway's own service. */
  | { readonly kind: "systemd"; readonly name: string; readonly leaseS: number };

/** One field of a secret in the KV version 2 engine of HashiCorp Vault or OpenBao. */
export interface VaultSource {
  readonly kind: "vault-kv";
  /** As its API has it: https://HOST/v1/MOUNT/data/PATH */
  readonly url: string;
  readonly field: string;
  /** The role that logs in with the sealed secret_id; null where a token is sealed. */
  readonly roleId: string | null;
  readonly authMount: string;
  readonly ca: string | null;
  readonly network: "public" | "private";
  readonly leaseS: number;
}

export const SOURCED_KINDS: readonly string[] = ["bearer", "basic", "header", "aws-sigv4"];

export function sourcePage(source: SecretSource): JsonObject {
  switch (source.kind) {
    case "command":
      return { kind: source.kind, argv: source.argv, lease_s: source.leaseS };
    case "systemd":
      return { kind: source.kind, name: source.name, lease_s: source.leaseS };
    case "vault-kv":
      return {
        kind: source.kind,
        url: source.url,
        field: source.field,
        role_id: source.roleId,
        auth_mount: source.authMount,
        ca: source.ca,
        network: source.network,
        lease_s: source.leaseS,
      };
  }
}

const KINDS = ["command", "systemd", "vault-kv"] as const;
const LEASE_S_MAX = 3_600;
const ARGUMENTS = 64;
const TEXT = 4_096;

export function readSourcePage(shape: PageShape, value: JsonValue, where: string): SecretSource {
  const { kind } = shape.members(value, where, ["kind"], MEMBERS);
  const lease = (page: { readonly lease_s: JsonValue }): number =>
    shape.integer(page.lease_s, `${where}/lease_s`, 1, LEASE_S_MAX);
  switch (shape.oneOf(kind, `${where}/kind`, KINDS)) {
    case "command": {
      const page = shape.members(value, where, ["kind", "argv", "lease_s"]);
      const argv = shape.list(page.argv, `${where}/argv`, ARGUMENTS, (item, at) => shape.text(item, at, TEXT));
      return { kind: "command", argv, leaseS: lease(page) };
    }
    case "systemd": {
      const page = shape.members(value, where, ["kind", "name", "lease_s"]);
      return { kind: "systemd", name: shape.text(page.name, `${where}/name`, 255, NAME), leaseS: lease(page) };
    }
    case "vault-kv": {
      const page = shape.members(value, where, VAULT_MEMBERS);
      const text = (name: (typeof VAULT_MEMBERS)[number], most: number): string =>
        shape.text(page[name], `${where}/${name}`, most);
      return {
        kind: "vault-kv",
        url: text("url", 2_048),
        field: text("field", 256),
        roleId: page.role_id === null ? null : text("role_id", 256),
        authMount: text("auth_mount", 256),
        ca: page.ca === null ? null : text("ca", defaults.tokenAuthorityBytes),
        network: shape.oneOf(page.network, `${where}/network`, ["public", "private"]),
        leaseS: lease(page),
      };
    }
  }
}

const VAULT_MEMBERS = ["kind", "url", "field", "role_id", "auth_mount", "ca", "network", "lease_s"] as const;
const MEMBERS = ["argv", "name", "url", "field", "role_id", "auth_mount", "ca", "network", "lease_s"] as const;
/** As systemd names its credentials; no path. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$/;
const WORD = /^[\x21-\x7e]+$/;
const MOUNT = /^[A-Za-z0-9_-]{1,64}(\/[A-Za-z0-9_-]{1,64}){0,3}$/;
const KV_PATH = /^\/v1\/[A-Za-z0-9._~/-]+\/data\/[A-Za-z0-9._~/-]+$/;
const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** Checks what an operator says of a source before it is sealed. */
export function checkSource(kind: string, source: SecretSource): SecretSource {
  if (!SOURCED_KINDS.includes(kind)) invalid(`A source is for ${SOURCED_KINDS.join(", ")}.`);
  if (!Number.isInteger(source.leaseS) || source.leaseS < 1 || source.leaseS > LEASE_S_MAX)
    invalid(`--lease is a number of seconds from 1 to ${LEASE_S_MAX}.`);
  switch (source.kind) {
    case "command": {
      const [program = ""] = source.argv;
      const plain = source.argv.every((one) => one.length <= TEXT && !one.includes("\0"));
      if (!isAbsolute(program) || source.argv.length > ARGUMENTS || !plain)
        invalid("--source-command is a JSON list: the absolute path of a program, and its arguments.");
      return source;
    }
    case "systemd":
      if (!NAME.test(source.name)) invalid("--source-systemd is the name of a credential of the gateway's service.");
      return source;
    case "vault-kv": {
      const url = URL.parse(source.url);
      const guarded = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
      if (url === null || !guarded || url.href !== source.url || !KV_PATH.test(url.pathname) || url.search !== "")
        invalid("--source-vault is https://HOST/v1/MOUNT/data/PATH, the address of a secret in a KV version 2 engine.");
      if (!WORD.test(source.field)) invalid("--source-field names the member of the secret.");
      if (source.roleId !== null && !WORD.test(source.roleId)) invalid("--source-role is the role_id of an AppRole.");
      if (!MOUNT.test(source.authMount)) invalid("--source-auth-mount is a path such as approle.");
      return source;
    }
  }
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}

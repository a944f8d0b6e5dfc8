import { isAbsolute } from "node:path";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { PageShape } from "../shape.ts";
import { EXCHANGED_KINDS, type TokenExchange } from "../token/exchange.ts";
import { provesByCertificate } from "../token/parts.ts";
import { REMOTE_KINDS, type RemoteSource, readRemotePage, remotePage, remoteTrouble } from "./remote.ts";

/**
 * Where a secret is got that is kept elsewhere: pinned when the credential was added, signed, and sealed with what opens the
 * place. What comes from there is kept for the lease and no longer.
 */
export type SecretSource = LocalSource | RemoteSource;

/** Something on this machine. */
export type LocalSource =
  /** A fixed program with fixed arguments; its standard output is the secret. */
  | { readonly kind: "command"; readonly argv: readonly string[]; readonly leaseS: number }
  /** A credential that systemd gave the gateway's own service. */
  | { readonly kind: "systemd"; readonly name: string; readonly leaseS: number };

/** An exchanged kind has its long-lived half there: what is got is exchanged, and never sent to an API. */
const SOURCED_KINDS: readonly string[] = [
  ...["bearer", "basic", "header", "aws-sigv4", "http-signature"],
  ...EXCHANGED_KINDS,
];

export function sourcePage(source: SecretSource): JsonObject {
  switch (source.kind) {
    case "command":
      return { kind: source.kind, argv: source.argv, lease_s: source.leaseS };
    case "systemd":
      return { kind: source.kind, name: source.name, lease_s: source.leaseS };
    case "vault-kv":
    case "vault-dynamic":
    case "connect":
    case "aws-secret":
      return remotePage(source);
  }
}

const KINDS = ["command", "systemd", ...REMOTE_KINDS] as const;
const LEASE_S_MAX = 3_600;
const ARGUMENTS = 64;
const TEXT = 4_096;

export function readSourcePage(shape: PageShape, value: JsonValue, where: string): SecretSource {
  const { kind } = shape.members(value, where, ["kind"], MEMBERS);
  const lease = (page: { readonly lease_s: JsonValue }): number =>
    shape.integer(page.lease_s, `${where}/lease_s`, 1, LEASE_S_MAX);
  const found = shape.oneOf(kind, `${where}/kind`, KINDS);
  switch (found) {
    case "command": {
      const page = shape.members(value, where, ["kind", "argv", "lease_s"]);
      const argv = shape.list(page.argv, `${where}/argv`, ARGUMENTS, (item, at) => shape.text(item, at, TEXT));
      return { kind: "command", argv, leaseS: lease(page) };
    }
    case "systemd": {
      const page = shape.members(value, where, ["kind", "name", "lease_s"]);
      return { kind: "systemd", name: shape.text(page.name, `${where}/name`, 255, NAME), leaseS: lease(page) };
    }
    case "vault-kv":
    case "vault-dynamic":
    case "connect":
    case "aws-secret": {
      const { lease_s } = shape.members(value, where, ["kind", "lease_s"], MEMBERS);
      return readRemotePage(shape, value, where, found, lease({ lease_s }));
    }
  }
}

const MEMBERS = [
  "argv",
  "name",
  "url",
  "field",
  "role_id",
  "auth_mount",
  "ca",
  "network",
  "lease_s",
  "region",
] as const;
/** As systemd names its credentials; no path. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$/;

/** Checks what an operator says of a source before it is sealed. */
export function checkSource(kind: string, exchange: TokenExchange | null, source: SecretSource): SecretSource {
  if (!SOURCED_KINDS.includes(kind)) invalid(`A source is for ${SOURCED_KINDS.join(", ")}.`);
  if (exchange?.grant === "refresh_token")
    invalid(
      "A refresh token has no source: its provider may replace it with every use, and the new one is sealed here.",
    );
  if (exchange !== null && provesByCertificate(exchange))
    invalid("A client that a certificate proves has no secret, and so no source.");
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
    case "vault-kv":
    case "vault-dynamic":
    case "connect":
    case "aws-secret": {
      const trouble = remoteTrouble(source);
      return trouble === null ? source : invalid(trouble);
    }
  }
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}

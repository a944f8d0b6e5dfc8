import { Denied } from "../../../kernel/failure.ts";
import { Secret } from "../../../kernel/secret.ts";
import { readBindings } from "../../../vault/binding.ts";
import { readPlace } from "../../../vault/credential.ts";
import { findEntry, requireUnneeded } from "../../../vault/entry.ts";
import { openHome } from "../../../vault/files/home.ts";
import { isRemote } from "../../../vault/source/remote.ts";
import type { SecretSource } from "../../../vault/source/source.ts";
import { summariesOf } from "../../../vault/summary.ts";
import { isExchanged, type TokenExchange, takesAll } from "../../../vault/token/exchange.ts";
import { provesByCertificate } from "../../../vault/token/parts.ts";
import { CREDENTIAL_KINDS, type CredentialKind, type Vault } from "../../../vault/vault.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import {
  bindCredential,
  type CredentialVerb,
  changeCredential,
  lendCredential,
  renewCredential,
  storeCredential,
} from "./change-credential.ts";
import { recordOf } from "./credential-list.ts";
import { type ExchangeOptions, readExchangeOptions, refuseExchangeOptions } from "./exchange-options.ts";
import { readGoogleKey } from "./google-key.ts";
import { readLenders } from "./lenders.ts";
import {
  requireSecretOptions,
  type SecretOptions,
  takeSecret,
  withKeyPassphrase,
  withUsername,
} from "./secret-input.ts";
import { say, type VaultCliPorts, type VaultOptions, type VaultSession, withOperator } from "./session.ts";
import { readSourceOptions, type SourceOptions } from "./source-options.ts";

export interface CredentialAddOptions extends SecretOptions, ExchangeOptions, SourceOptions {
  readonly kind: string;
  readonly origins: readonly string[];
  readonly hostKeys: readonly string[];
  readonly packs: readonly string[];
  readonly eachUse: boolean;
  readonly header?: string;
  readonly username?: string;
  /** The label of a client certificate to show along with it. */
  readonly withCertificate?: string;
  /** The gateways that may lend it, or group:NAME; all of them without. */
  readonly gateway?: readonly string[];
  /** The key file of a Google service account, which says most of the rest. */
  readonly googleKey?: string;
}

/** `gw credential add LABEL`. The secret comes from a prompt, standard input or a descriptor, never from an argument. */
export function runCredentialAdd(
  label: string,
  options: CredentialAddOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  const take = (_session: VaultSession, kind: CredentialKind): Promise<Secret> => takeSecret(label, kind, options, io);
  return storeGiven(label, options, io, ports, take, async (vault) =>
    sayCredential(io, options, vault, label, "stored"),
  );
}

/** A secret that `take` brings, as any kind of credential, and what is done once the vault has it. */
export function storeGiven(
  label: string,
  options: CredentialAddOptions,
  io: CliIo,
  ports: VaultCliPorts,
  take: (session: VaultSession, kind: CredentialKind) => Promise<Secret>,
  stored: (vault: Vault) => Promise<Exit>,
): Promise<Exit> {
  return answering(io, async () => {
    const kind = CREDENTIAL_KINDS.find((one) => one === options.kind);
    if (kind === undefined) throw new Denied("credential_invalid", `--kind is one of ${CREDENTIAL_KINDS.join(", ")}.`);
    const boundTo = placesOf(kind, options);
    const google = options.googleKey === undefined ? null : readGoogleKey(options.googleKey);
    using _wiped = google?.secret;
    const asked = { ...options, ...google?.options };
    const exchange = isExchanged(kind)
      ? await readExchangeOptions(kind, asked, ports.fetchDocument ?? nowhere)
      : undefined;
    const source = readSourceOptions(options);
    if (exchange === undefined) refuseExchangeOptions(withoutOwn(kind, asked, source !== undefined));
    const header = options.header === undefined ? {} : { headerName: options.header };
    const home = openHome(options.home, ports.random);
    const lenders = readLenders(home, options.gateway);
    const place = {
      ...{ label, kind, boundTo },
      ...(lenders === undefined ? {} : { lenders }),
      ...(exchange === undefined ? {} : { exchange }),
      ...(source === undefined ? {} : { source }),
      ...(options.keyId === undefined ? {} : { keyId: options.keyId }),
      ...(options.withCertificate === undefined ? {} : { withCertificate: options.withCertificate }),
      ...header,
    };
    readPlace(home.readVault(), place);
    requireSecretOptions(kind, options);
    return await withOperator(options, io, ports, async (session) => {
      using given =
        google?.secret ?? (hasNoSecret(exchange, source) ? Secret.take(Buffer.alloc(0)) : await take(session, kind));
      using secret = withUsername(kind, options.username, given);
      const vault = await withKeyPassphrase(kind, options, io, (keyPassphrase) =>
        storeCredential(session, ports, {
          ...{ ...place, secret, eachUse: options.eachUse },
          ...(keyPassphrase === undefined ? {} : { keyPassphrase }),
        }),
      );
      if (exchange !== undefined && takesAll(exchange))
        io.err(
          `warning: without --scope a token of ${label} has every permission of the app, and a pack that names permissions is refused one. To take fewer: gw credential remove ${label}, then add it with --scope issues:read`,
        );
      return await stored(vault);
    });
  });
}

/** `gw credential rotate LABEL`: a new secret, the same binding. */
export function runCredentialRotate(
  label: string,
  options: SecretOptions & { readonly username?: string },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const entry = findEntry(openHome(options.home, ports.random).readVault(), label);
    const { kind, exchange, source, withCertificate } = entry;
    if (hasNoSecret(exchange, source)) {
      const instead = source === null ? `gw credential rotate ${withCertificate}` : "replace it where it is kept";
      throw new Denied(
        "credential_invalid",
        `${label} has no secret here, and none to rotate: ${instead}. If it is suspended: gw credential enable ${label}.`,
      );
    }
    requireSecretOptions(kind, options);
    return withOperator(options, io, ports, async (session) => {
      using given = await takeSecret(label, kind, options, io);
      using secret = withUsername(kind, options.username, given);
      const vault = await withKeyPassphrase(kind, options, io, (keyPassphrase) =>
        renewCredential(session, ports, {
          ...{ label, secret },
          ...(keyPassphrase === undefined ? {} : { keyPassphrase }),
        }),
      );
      return sayCredential(io, options, vault, label, "rotated");
    });
  });
}

export function runCredentialRemove(
  label: string,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  before: (session: VaultSession) => Promise<void> = async () => undefined,
): Promise<Exit> {
  return changeOne(label, "removed", options, io, ports, before);
}

/** `gw credential disable|enable LABEL`. Enabling lifts what the gateway suspended as well. */
export function runCredentialSwitch(
  label: string,
  disabled: boolean,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return changeOne(label, disabled ? "disabled" : "enabled", options, io, ports);
}

/** `gw credential lend LABEL`: sealed anew, to these gateways alone or to all of them. */
export function runCredentialLend(
  label: string,
  options: VaultOptions & { readonly gateway?: readonly string[]; readonly anywhere?: boolean },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const home = openHome(options.home, ports.random);
    findEntry(home.readVault(), label);
    const lenders = readLenders(home, options.gateway);
    if ((lenders === undefined) !== (options.anywhere === true))
      throw new Denied("value_not_allowed", "Name who may lend it: --gateway NAME, or --anywhere.");
    return withOperator(options, io, ports, async (session) => {
      const vault = await lendCredential(session, ports, label, lenders ?? null);
      return sayCredential(io, options, vault, label, "sealed anew");
    });
  });
}

/** `gw credential bind LABEL`: the places that are named, instead of those before. */
export function runCredentialBind(
  label: string,
  options: VaultOptions & Places,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, () => {
    const { kind } = findEntry(openHome(options.home, ports.random).readVault(), label);
    const boundTo = readBindings(kind, placesOf(kind, options));
    return withOperator(options, io, ports, async (session) =>
      sayCredential(io, options, await bindCredential(session, ports, label, boundTo), label, "bound anew"),
    );
  });
}

export function runCredentialMark(
  label: string,
  eachUse: boolean,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return changeOne(label, eachUse ? "marked_each_use" : "unmarked_each_use", options, io, ports);
}

const DONE: Readonly<Record<CredentialVerb, string>> = {
  disabled: "disabled",
  enabled: "enabled",
  marked_each_use: "asks a person on every use from now on",
  unmarked_each_use: "no longer asks on every use",
  removed: "removed",
};

function changeOne(
  label: string,
  verb: CredentialVerb,
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  before: (session: VaultSession) => Promise<void> = async () => undefined,
): Promise<Exit> {
  return answering(io, () => {
    // Asked before the passphrase: a wrong label should not cost a prompt.
    const vault = openHome(options.home, ports.random).readVault();
    if (verb === "removed") requireUnneeded(vault, label);
    else findEntry(vault, label);
    return withOperator(options, io, ports, async (session) => {
      await before(session);
      const vault = await changeCredential(session, ports, label, verb);
      return sayCredential(io, options, vault, label, DONE[verb]);
    });
  });
}

/** Options of an exchange that mean something to another kind too. */
function withoutOwn(kind: CredentialKind, options: ExchangeOptions, sourced: boolean): ExchangeOptions {
  const { keyId, ca, privateNetwork, region, ...rest } = options;
  return {
    ...rest,
    ...(kind === "http-signature" || keyId === undefined ? {} : { keyId }),
    ...(sourced
      ? {}
      : {
          ...(region === undefined ? {} : { region }),
          ...(ca === undefined ? {} : { ca }),
          ...(privateNetwork === undefined ? {} : { privateNetwork }),
        }),
  };
}

/** Kept where nothing of ours opens it, or proven by a certificate that is a credential of its own. */
function hasNoSecret(exchange: TokenExchange | null | undefined, source: SecretSource | null | undefined): boolean {
  return source == null ? exchange != null && provesByCertificate(exchange) : !isRemote(source);
}

const nowhere = async (): Promise<undefined> => undefined;

type Places = Pick<CredentialAddOptions, "origins" | "hostKeys" | "packs">;

function placesOf(kind: CredentialKind, options: Places): readonly string[] {
  const { origins, hostKeys, packs } = options;
  const [mine, others] =
    kind === "ssh"
      ? [hostKeys, [...origins, ...packs]]
      : kind === "hmac"
        ? [packs, [...origins, ...hostKeys]]
        : [origins, [...hostKeys, ...packs]];
  if (others.length === 0) return mine;
  throw new Denied("credential_invalid", "--origin is for what goes to an API, --host-key for ssh, --pack for hmac.");
}

export function sayCredential(io: CliIo, options: VaultOptions, vault: Vault, label: string, verb: string): Exit {
  const summary = summariesOf(vault).find((one) => one.label === label);
  const record = summary === undefined ? { label, removed: true } : recordOf(summary);
  say(
    io,
    options.json,
    { ...record, generation: vault.generation },
    `${label} ${verb}, vault generation ${vault.generation}.`,
  );
  return exits.done;
}

import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { checkLabel, readBindings, readHeaderName } from "./binding.ts";
import { entryKeys, findEntry, openEntry, requireUnneeded, retiredDigest, sealEntry, wasUsedBefore } from "./entry.ts";
import { type EntryExtras, type Lender, MOST_LENDERS, NO_EXTRAS } from "./extras.ts";
import { type OpenOperator, requireOperator, type VaultPorts } from "./operator.ts";
import { readExchanged, readSecret } from "./secret-form.ts";
import { readKeyId, readSigningKey } from "./signature/sign.ts";
import { readOpener } from "./source/opener.ts";
import { checkSource, type SecretSource } from "./source/source.ts";
import { importSshKey } from "./ssh/import-key.ts";
import { openStateRoot } from "./state-root.ts";
import { readClientCertificate } from "./tls/certificate.ts";
import { makeDpopKey } from "./token/dpop.ts";
import { checkExchange, EXCHANGED_KINDS, isExchanged, type TokenExchange } from "./token/exchange.ts";
import { type ExchangeParts, openParts, withDpopKey } from "./token/parts.ts";
import type { CredentialEntry, CredentialKind, RuntimeNotes, Vault } from "./vault.ts";
import { signVault } from "./verify.ts";

/**
 * Changes of credentials. Each makes the next generation of the vault and is signed by an operator: the gateway, which
 * has the service key but no approver key, can seal bytes but cannot make a vault that binds them.
 */
export interface NewCredential {
  readonly label: string;
  readonly kind: CredentialKind;
  readonly boundTo: readonly string[];
  readonly eachUse: boolean;
  readonly headerName?: string;
  /** What the provider calls a key that signs requests. */
  readonly keyId?: string;
  /** The label of a client certificate that is shown along with it. */
  readonly withCertificate?: string;
  /** Where the secret is got instead; `secret` is then what opens that place. */
  readonly source?: SecretSource;
  /** For the kinds whose secret is exchanged for a token. */
  readonly exchange?: TokenExchange;
  /** The gateways that may lend it; every gateway of the vault without. */
  readonly lenders?: readonly Lender[];
  readonly secret: Secret;
  /** The key that its tokens are bound to, where somebody agreed with it already; one is made otherwise. */
  readonly dpopKey?: Secret;
  /** For an encrypted private key. */
  readonly keyPassphrase?: Secret;
}

/** All of a new credential that needs no secret to be judged, so that nobody types one in vain. */
export function readPlace(
  vault: Vault,
  given: Omit<NewCredential, "secret" | "eachUse">,
): Pick<CredentialEntry, "boundTo" | "headerName" | "exchange"> & { readonly extras: EntryExtras } {
  checkLabel(given.label);
  if (vault.credentials.some(({ label }) => label === given.label)) {
    throw new Denied("credential_exists", `The vault already holds ${given.label}: rotate it, or remove it first.`);
  }
  if (vault.credentials.length >= defaults.vaultCredentials) {
    throw new Denied("credential_invalid", `A vault holds at most ${defaults.vaultCredentials} credentials.`);
  }
  const { kind } = given;
  const exchange = readExchange(kind, given.exchange);
  return {
    boundTo: readBindings(kind, given.boundTo),
    headerName: readHeaderName(kind, given.headerName),
    exchange,
    extras: readExtras(vault, given, exchange),
  };
}

export async function addCredential(
  vault: Vault,
  operator: OpenOperator,
  given: NewCredential,
  { clock, random }: VaultPorts,
): Promise<Vault> {
  requireOperator(vault, operator);
  const { boundTo, headerName, exchange, extras } = readPlace(vault, given);
  const how = { ...extras, kind: given.kind, exchange };
  const read = await readGiven(how, given.secret, given.keyPassphrase, clock.wallMs());
  const { publicKey, certificate } = read;
  using dpopKey = exchange?.dpop === true && given.dpopKey === undefined ? makeDpopKey() : null;
  using secret = bindToKey(read.secret, exchange, given.dpopKey ?? dpopKey);
  const at = isoTime(clock.wallMs());
  const binding = {
    label: given.label,
    kind: given.kind,
    version: 1,
    boundTo,
    eachUse: given.eachUse,
    headerName,
    publicKey,
    exchange,
    ...extras,
    certificate,
  };
  const entry = {
    ...binding,
    disabled: false,
    createdAt: at,
    rotatedAt: at,
    retired: [],
    sealed: sealEntry(entryKeys(vault, operator), vault.vaultId, binding, secret, random),
  };
  return withCredentials(vault, operator, [...vault.credentials, entry], vault.notes, clock);
}

/** A new secret under the same label and binding; the old one is kept as a keyed digest only. */
export async function rotateCredential(
  vault: Vault,
  operator: OpenOperator,
  given: Pick<NewCredential, "label" | "secret" | "keyPassphrase">,
  { clock, random }: VaultPorts,
): Promise<Vault> {
  requireOperator(vault, operator);
  const old = findEntry(vault, given.label);
  const read = await readGiven(old, given.secret, given.keyPassphrase, clock.wallMs());
  const { publicKey, certificate } = read;
  const keys = entryKeys(vault, operator);
  using oldSecret = openEntry(keys, vault.vaultId, old);
  using parts = openParts(old.exchange, oldSecret);
  using secret = bindToKey(read.secret, old.exchange, parts.dpopKey);
  using root = openStateRoot(operator.serviceKey, vault);
  const digestOf = (one: Secret) => retiredDigest(root, vault.vaultId, old.label, one);
  const retired = [...old.retired, { version: old.version, digest: digestOf(oldSecret) }].slice(-defaults.vaultRetired);
  if (wasUsedBefore(retired, digestOf(secret))) {
    throw new Denied("credential_reused", `That is a secret ${old.label} already had. Make a new one at the provider.`);
  }
  const binding = { ...old, version: old.version + 1, publicKey, certificate };
  const entry = {
    ...binding,
    rotatedAt: isoTime(clock.wallMs()),
    retired,
    sealed: sealEntry(keys, vault.vaultId, binding, secret, random),
  };
  return withCredentials(vault, operator, replaced(vault, entry), vault.notes, clock);
}

/** What a credential goes by that a person agrees to once more. The caller wipes it. */
export function openProof(vault: Vault, operator: OpenOperator, label: string): ExchangeParts & Disposable {
  const entry = findEntry(vault, label);
  if (entry.exchange === null) throw new Fault("a proof of what is not exchanged");
  using sealed = openEntry(entryKeys(vault, operator), vault.vaultId, entry);
  return openParts(entry.exchange, sealed);
}

/** Takes ownership of `given`. */
function bindToKey(given: Secret, exchange: TokenExchange | null, key: Secret | null): Secret {
  if (exchange?.dpop !== true) return given;
  using _wiped = given;
  if (key === null) throw new Fault("tokens that are bound to no key");
  return withDpopKey(key, given);
}

export interface CredentialChange {
  readonly boundTo?: readonly string[];
  readonly eachUse?: boolean;
  /** Null for every gateway of the vault. */
  readonly lenders?: readonly Lender[] | null;
}

/** Other places or another each-use mark: the secret is sealed again with what it is now bound to. */
export function rebindCredential(
  vault: Vault,
  operator: OpenOperator,
  label: string,
  change: CredentialChange,
  { clock, random }: VaultPorts,
): Vault {
  requireOperator(vault, operator);
  const old = findEntry(vault, label);
  const keys = entryKeys(vault, operator);
  using secret = openEntry(keys, vault.vaultId, old);
  const binding = {
    ...old,
    boundTo: change.boundTo === undefined ? old.boundTo : readBindings(old.kind, change.boundTo),
    eachUse: change.eachUse ?? old.eachUse,
    lenders: change.lenders === undefined ? old.lenders : change.lenders && checkLenders(change.lenders),
  };
  const entry = { ...binding, sealed: sealEntry(keys, vault.vaultId, binding, secret, random) };
  return withCredentials(vault, operator, replaced(vault, entry), vault.notes, clock);
}

/** Enabling also lifts what the gateway suspended. */
export function switchCredential(
  vault: Vault,
  operator: OpenOperator,
  label: string,
  disabled: boolean,
  { clock }: Pick<VaultPorts, "clock">,
): Vault {
  requireOperator(vault, operator);
  const entry = { ...findEntry(vault, label), disabled };
  const notes = disabled ? vault.notes : withoutSuspension(vault.notes, label);
  return withCredentials(vault, operator, replaced(vault, entry), notes, clock);
}

export function removeCredential(
  vault: Vault,
  operator: OpenOperator,
  label: string,
  { clock }: Pick<VaultPorts, "clock">,
): Vault {
  requireOperator(vault, operator);
  requireUnneeded(vault, label);
  const rest = vault.credentials.filter((entry) => entry.label !== label);
  return withCredentials(vault, operator, rest, withoutSuspension(vault.notes, label), clock);
}

function readExchange(kind: CredentialKind, given: TokenExchange | undefined): TokenExchange | null {
  if (isExchanged(kind) !== (given !== undefined))
    throw new Denied(
      "credential_invalid",
      `How a token is got is for ${EXCHANGED_KINDS.join(", ")}, and needed there.`,
    );
  return isExchanged(kind) && given !== undefined ? checkExchange(kind, given) : null;
}

/** What an entry of this kind may have beside the usual; what does not belong to it is refused. */
function readExtras(
  vault: Vault,
  given: Omit<NewCredential, "secret" | "eachUse">,
  exchange: TokenExchange | null,
): EntryExtras {
  const { kind, withCertificate } = given;
  if (withCertificate !== undefined) {
    const other = findEntry(vault, withCertificate);
    if (other.kind !== "mtls" || !TAKES_CERTIFICATE.includes(kind))
      throw new Denied(
        "credential_invalid",
        `--with-certificate names a credential of kind mtls, and is for ${TAKES_CERTIFICATE.join(", ")}.`,
      );
  }
  if (exchange?.clientAuth === "tls_client_auth" && withCertificate === undefined)
    throw new Denied("credential_invalid", "--client-auth tls_client_auth needs --with-certificate LABEL.");
  return {
    ...NO_EXTRAS,
    withCertificate: withCertificate ?? null,
    keyId: kind === "http-signature" ? readKeyId(given.keyId) : null,
    source: given.source === undefined ? null : checkSource(kind, exchange, given.source),
    lenders: given.lenders === undefined ? null : checkLenders(given.lenders),
  };
}

function checkLenders(lenders: readonly Lender[]): readonly Lender[] {
  if (lenders.length === 0 || lenders.length > MOST_LENDERS)
    throw new Denied("credential_invalid", `1 to ${MOST_LENDERS} gateways may lend a credential of their own.`);
  return lenders.toSorted((one, other) => (one.gateway < other.gateway ? -1 : 1));
}

const TAKES_CERTIFICATE: readonly CredentialKind[] = [
  ...EXCHANGED_KINDS,
  ...(["bearer", "basic", "header", "aws-sigv4", "http-signature"] as const),
];

interface Given {
  readonly secret: Secret;
  readonly publicKey: string | null;
  readonly certificate: string | null;
}

async function readGiven(
  { kind, exchange, source }: Pick<CredentialEntry, "kind" | "exchange" | "source">,
  given: Secret,
  keyPassphrase: Secret | undefined,
  wallMs: number,
): Promise<Given> {
  const sealed = (secret: Secret): Given => ({ secret, publicKey: null, certificate: null });
  if (source !== null) return sealed(readOpener(source, given));
  if (isExchanged(kind)) {
    if (exchange === null) throw new Fault("an exchanged credential without its exchange");
    return sealed(readExchanged(exchange, given));
  }
  if (kind === "mtls") return { publicKey: null, ...readClientCertificate(given, wallMs) };
  if (kind === "http-signature") return sealed(readSigningKey(given));
  if (kind !== "ssh") return sealed(readSecret(kind, given));
  const { privateKey, publicKey } = await importSshKey(given, keyPassphrase);
  return { secret: privateKey, publicKey, certificate: null };
}

function replaced(vault: Vault, entry: CredentialEntry): readonly CredentialEntry[] {
  return vault.credentials.map((one) => (one.label === entry.label ? entry : one));
}

function withoutSuspension(notes: RuntimeNotes, label: string): RuntimeNotes {
  const suspended = notes.suspended.filter((one) => one.label !== label);
  return suspended.length === notes.suspended.length ? notes : { serial: notes.serial + 1, suspended };
}

function withCredentials(
  vault: Vault,
  operator: OpenOperator,
  credentials: readonly CredentialEntry[],
  notes: RuntimeNotes,
  clock: VaultPorts["clock"],
): Vault {
  return signVault({ ...vault, credentials }, vault, operator, notes, clock);
}

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { Digest } from "../kernel/canonical-json.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { anchorOf, checkAnchor, type VaultAnchor } from "./anchor.ts";
import { createSigningKeys } from "./aws/signing-keys.ts";
import { type BoxKey, boxKeyOf, unsealWith } from "./box.ts";
import { entryAad, findEntry, openLent, refuseEntry, type SecretVersion, secretVersion } from "./entry.ts";
import { httpLoan, tokenLoan } from "./http-loan.ts";
import { rawPublicOf } from "./keys.ts";
import type { HmacLoan, HmacNotation, HttpLoan, SshSigner, ToSign } from "./lent.ts";
import type { OperatorKeys } from "./lineage.ts";
import { mergeNotes, suspendCredential } from "./notes.ts";
import { requestSignerOf } from "./request-key.ts";
import { readHmacKey, readSourced } from "./secret-form.ts";
import { serviceSubkey, stateSubkey } from "./service-key.ts";
import { createSharing, isSentAsItIs } from "./share-loan.ts";
import type { SecretSource } from "./source/source.ts";
import { signerFor } from "./ssh/signer.ts";
import { openStateRoot } from "./state-root.ts";
import { type CredentialSummary, stateOf, summariesOf } from "./summary.ts";
import { certificateLoan } from "./tls/certificate.ts";
import { dpopProof } from "./token/dpop.ts";
import { EXCHANGED_KINDS, type TokenExchange } from "./token/exchange.ts";
import { type ExchangeAsk, exchangeLoan } from "./token/lend-exchange.ts";
import { type ExchangeParts, openParts, withDpopKey } from "./token/parts.ts";
import type { CredentialEntry, CredentialKind, Vault } from "./vault.ts";
import { checkServiceKey } from "./verify.ts";

/** The open service compartment: lends a secret to the place it is bound to, one send at a time. */
export interface ServiceVault {
  readonly vaultId: string;
  readonly generation: number;
  readonly manifestHash: Digest;
  readonly anchor: VaultAnchor;
  readonly operators: readonly OperatorKeys[];
  list(): readonly CredentialSummary[];
  /** `elsewhere` names the gateways that lend it where this one does not. */
  find(
    label: string,
  ): { readonly eachUse: boolean; readonly disabled: boolean; readonly elsewhere?: readonly string[] } | null;
  lendHttp(label: string, origin: string, toSign?: ToSign | null): HttpLoan;
  /** How a token is got for it, and for which version of its secret; null where the secret itself is lent. */
  exchangeOf(label: string): { readonly version: SecretVersion; readonly exchange: TokenExchange } | null;
  /** What goes to the endpoint that the entry was sealed with, and nowhere else. `sourced` is what its source gave, where it has one. */
  lendExchange(label: string, url: string, ask: ExchangeAsk, sourced: Secret | null): HttpLoan;
  /** A token, or the secret from its source, that was got for it, to an origin that the entry was sealed with. */
  lendToken(label: string, origin: string, token: Secret, toSign?: ToSign | null): HttpLoan;
  /** Where its secret is got, and for which version of the entry; null where it is sealed here. */
  sourceOf(label: string): { readonly version: SecretVersion; readonly source: SecretSource } | null;
  /** Denied `credential_invalid` for what could not be a secret of this kind. */
  checkSourced(label: string, secret: Secret): void;
  /** What opens that place. The caller wipes it. */
  lendOpener(label: string): Secret;
  lendSshSigner(label: string, hostKey: string): SshSigner;
  lendHmac(label: string, pack: string, notation: HmacNotation): HmacLoan;
  /** The gateway's own key, for what it sends to hosts; null in a vault without one. No label leads here. */
  lendRequestSigner(): SshSigner | null;
  /** Takes effect here at once; the returned vault is for the file. Only an operator can lift it. */
  suspend(label: string, reason: string, wallMs: number): Vault;
  /** A newer vault with what was suspended here too; as it is where it has another service key. */
  carryNotes(next: Vault): Vault;
  /** Continues with a newer vault; refuses an older or foreign one and keeps what it has. */
  reload(vault: Vault): void;
  deriveStateKey(purpose: string): KeyObject;
  /** This host's own key, for entries that are lent by some gateways alone. */
  lendWith(key: KeyObject): void;
  wipe(): void;
}

const SENT_KINDS = ["bearer", "basic", "header", "aws-sigv4", "http-signature", "mtls"] as const;

function locked(): Denied {
  return new Denied("vault_locked", "The vault is locked: gw unlock.");
}

function noSecret(): Secret {
  return Secret.take(Buffer.alloc(0));
}

/** Takes ownership of the key. */
function withCertificate(loan: HttpLoan, { label, certificate }: CredentialEntry, key: Secret): HttpLoan {
  if (certificate === null) return refuseEntry(label);
  return {
    ...loan,
    certificate: certificateLoan(label, certificate, key),
    secrets: [...loan.secrets, key],
    release() {
      loan.release();
      key.wipe();
    },
  };
}

/** Copies the service key; the caller keeps and wipes its own. */
export function openService(first: Vault, givenKey: Secret): ServiceVault {
  checkServiceKey(first, givenKey);
  const serviceKey = givenKey.copy();
  let vault = first;
  let entryKey: KeyObject | null = serviceSubkey(serviceKey, vault.vaultId, "credentials");
  let lendingKey: KeyObject | null = null;
  // Kept: to work it out takes as long as half a call.
  let ownKey: Buffer | null = null;
  // One derived key an entry, outside the JavaScript heap: a loan costs one decryption.
  const share = createSharing();
  const signing = createSigningKeys();
  let opened = new Map<string, { readonly boxKey: BoxKey; readonly aad: Buffer }>();

  const open = (entry: CredentialEntry): Secret => {
    if (entryKey === null) throw locked();
    const known = opened.get(entry.label) ?? {
      boxKey: boxKeyOf(entryKey, entry.sealed) ?? refuseEntry(entry.label),
      aad: Buffer.from(entryAad(vault.vaultId, entry), "utf8"),
    };
    opened.set(entry.label, known);
    const plain = unsealWith(known.boxKey, known.aad, entry.sealed) ?? refuseEntry(entry.label);
    return entry.lenders === null ? plain : openLent(plain, vault.vaultId, entry, lendingKey);
  };

  const lendable = (label: string, kinds: readonly CredentialKind[], place: string | null): CredentialEntry => {
    const entry = findEntry(vault, label);
    if (!kinds.includes(entry.kind)) {
      throw new Denied("credential_not_bound", `${label} is a ${entry.kind} credential and cannot be used this way.`);
    }
    if (stateOf(vault, entry) !== "enabled") {
      throw new Denied(
        "credential_disabled",
        `${label} is ${stateOf(vault, entry)}. An operator enables it: gw credential enable ${label}.`,
      );
    }
    if (place !== null && !entry.boundTo.includes(place)) {
      throw new Denied("credential_not_bound", `${label} is not bound to where the request goes. Nothing was lent.`);
    }
    return entry;
  };

  /** The certificate that an entry goes with. A token goes without where the certificate is not bound to; nothing else does. */
  const alongside = (entry: CredentialEntry, origin: string, loan: HttpLoan, isToken = false): HttpLoan => {
    if (entry.withCertificate === null) return loan;
    if (isToken && !findEntry(vault, entry.withCertificate).boundTo.includes(origin)) return loan;
    try {
      const other = lendable(entry.withCertificate, ["mtls"], origin);
      return withCertificate(loan, other, open(other));
    } catch (error) {
      loan.release();
      throw error;
    }
  };

  /** Null where the entry's tokens are bound to no key. */
  const proofFor = (entry: CredentialEntry, token: Secret, toSign: ToSign | null): Secret | null => {
    const { exchange } = entry;
    if (exchange === null || !exchange.dpop) return null;
    if (toSign?.scheme !== "dpop") throw new Fault("nothing says what the proof is for");
    using parts = partsOf(entry, exchange);
    return dpopProof(parts.dpopKey ?? refuseEntry(entry.label), toSign, token);
  };

  const partsOf = (entry: CredentialEntry, exchange: TokenExchange): ExchangeParts & Disposable => {
    using sealed = open(entry);
    return openParts(exchange, sealed);
  };

  /** What is exchanged: as it is sealed, or as its source gave it, with the key that is sealed here before it. */
  const toExchange = (entry: CredentialEntry, sourced: Secret | null): Secret => {
    const { exchange, source, label } = entry;
    if ((source === null) !== (sourced === null)) throw new Fault("a secret from where the entry does not keep it");
    if (sourced === null || exchange === null) return open(entry);
    if (!exchange.dpop) return sourced.copy();
    using parts = partsOf(entry, exchange);
    return withDpopKey(parts.dpopKey ?? refuseEntry(label), sourced);
  };

  return {
    get vaultId() {
      return vault.vaultId;
    },
    get generation() {
      return vault.generation;
    },
    get manifestHash() {
      return vault.manifestHash;
    },
    get anchor() {
      return anchorOf(vault);
    },
    get operators() {
      return vault.operators;
    },
    list: () => summariesOf(vault),
    find: (label) => {
      const entry = vault.credentials.find((one) => one.label === label);
      if (entry === undefined) return null;
      const { eachUse, lenders } = entry;
      const own = ownKey;
      const here = lenders === null || (own !== null && lenders.some(({ key }) => key.equals(own)));
      const disabled = stateOf(vault, entry) !== "enabled";
      return { eachUse, disabled, ...(here ? {} : { elsewhere: lenders.map(({ gateway }) => gateway) }) };
    },
    lendHttp: (label, origin, toSign = null) => {
      const entry = lendable(label, SENT_KINDS, origin);
      if (entry.source !== null) throw new Fault("a secret that is kept elsewhere is not lent from here");
      if (entryKey === null) throw locked();
      if (isSentAsItIs(entry) && toSign === null) return share(entry, () => httpLoan(entry, open(entry), null));
      const key = open(entry);
      // The key of a certificate makes the connection, and is no header.
      if (entry.kind === "mtls") return withCertificate(httpLoan(entry, noSecret(), toSign), entry, key);
      return alongside(entry, origin, httpLoan(entry, key, toSign, signing));
    },
    exchangeOf: (label) => {
      const entry = vault.credentials.find((one) => one.label === label);
      return entry === undefined || entry.exchange === null
        ? null
        : { version: secretVersion(entry), exchange: entry.exchange };
    },
    lendExchange: (label, url, ask, sourced) => {
      const entry = lendable(label, EXCHANGED_KINDS, null);
      const { exchange } = entry;
      if (exchange === null || (url !== exchange.tokenEndpoint && url !== exchange.revocationEndpoint))
        throw new Denied("credential_not_bound", `${label} is exchanged at the endpoint it was added with alone.`);
      return alongside(entry, new URL(url).origin, exchangeLoan(label, exchange, url, toExchange(entry, sourced), ask));
    },
    lendToken: (label, origin, token, toSign = null) => {
      const entry = lendable(label, [...EXCHANGED_KINDS, ...SENT_KINDS], origin);
      if (entry.kind === "aws-role")
        return alongside(entry, origin, httpLoan(entry, token.copy(), toSign, signing), true);
      if (entry.exchange !== null)
        return alongside(entry, origin, tokenLoan(label, token, proofFor(entry, token, toSign)), true);
      return alongside(entry, origin, httpLoan(entry, readSourced(entry, token), toSign, signing));
    },
    sourceOf: (label) => {
      const entry = vault.credentials.find((one) => one.label === label);
      return entry?.source == null ? null : { version: secretVersion(entry), source: entry.source };
    },
    checkSourced: (label, secret) => readSourced(findEntry(vault, label), secret).wipe(),
    lendOpener: (label) => {
      const entry = lendable(label, [...EXCHANGED_KINDS, ...SENT_KINDS], null);
      if (entry.exchange?.dpop !== true) return open(entry);
      using parts = partsOf(entry, entry.exchange);
      return parts.proof?.copy() ?? noSecret();
    },
    lendSshSigner: (label, hostKey) => {
      const entry = lendable(label, ["ssh"], hostKey);
      using secret = open(entry);
      return signerFor(label, secret, entry.publicKey ?? "");
    },
    lendHmac: (label, pack, notation) => {
      const entry = lendable(label, ["hmac"], pack);
      using secret = open(entry);
      using bare = secret.use((bytes) => Secret.take(readHmacKey(bytes, notation)));
      let key: KeyObject | null = bare.use((bytes) => createSecretKey(bytes));
      return {
        label,
        mac(algorithm, data) {
          if (key === null) throw new Fault("a loan was used after its release");
          return createHmac(algorithm, key).update(data).digest();
        },
        release() {
          key = null;
        },
      };
    },
    lendRequestSigner: () => {
      if (entryKey === null) throw locked();
      return vault.requestKey === null ? null : requestSignerOf(serviceKey, vault.vaultId, vault.requestKey);
    },
    suspend: (label, reason, wallMs) => {
      vault = suspendCredential(vault, serviceKey, label, reason, wallMs);
      return vault;
    },
    carryNotes: (next) => mergeNotes(vault, next, serviceKey),
    reload: (next) => {
      checkServiceKey(next, serviceKey);
      checkAnchor(anchorOf(vault), next);
      vault = next;
      // Of what is rotated, disabled or gone nothing is kept.
      signing.clear();
      opened = new Map();
    },
    deriveStateKey: (purpose) => {
      using root = openStateRoot(serviceKey, vault);
      return stateSubkey(root, vault.vaultId, purpose);
    },
    lendWith: (key) => {
      lendingKey = key;
      ownKey = rawPublicOf(key);
    },
    wipe: () => {
      serviceKey.wipe();
      lendingKey = null;
      ownKey = null;
      entryKey = null;
      signing.clear();
      opened = new Map();
    },
  };
}

import type { Brand } from "../kernel/brand.ts";
import type { Digest } from "../kernel/canonical-json.ts";
import type { EntryExtras } from "./extras.ts";
import type { KdfParameters } from "./kdf.ts";
import type { KeyId } from "./keys.ts";
import type { LineageRecord, OperatorKeys } from "./lineage.ts";
import type { TokenExchange } from "./token/exchange.ts";

/**
 * The vault as data. Operators' slots and credentials are sealed; everything around them is public, covered by one
 * manifest that an operator signed, and by a MAC that only a holder of the service key can make.
 */
export interface VaultContent {
  readonly vaultId: string;
  readonly generation: number;
  /** The manifest this one follows. */
  readonly previous: Digest | null;
  readonly signedAt: string;
  readonly signedBy: KeyId;
  readonly lineage: readonly LineageRecord[];
  readonly slots: readonly OperatorSlot[];
  /** Root of the keys that guard the state store; it outlives a change of the service key. */
  readonly stateRoot: Buffer;
  /** Null in a vault that is older than such keys, until an operator draws one. */
  readonly requestKey: RequestKey | null;
  readonly credentials: readonly CredentialEntry[];
  /** Null in a vault that no operator ever restored. */
  readonly restored: Restoration | null;
}

/** Where an operator put an earlier state in force on purpose: from here on this is a line of its own. */
export interface Restoration {
  /** Names the line. */
  readonly line: string;
  readonly at: string;
  readonly by: KeyId;
  /** The generation that was put in force, and the line that it was of. */
  readonly generation: number;
  readonly from: string;
}

/** What a vault is called that goes on from its founding without a break. */
export const FIRST_LINE = "original";

/** The gateway's own Ed25519 key, by which hosts know its requests. Not a credential: no pack can name it. */
export interface RequestKey {
  /** `ssh-ed25519 base64`, what a host pins. */
  readonly publicKey: string;
  readonly sealed: Buffer;
}

/** What the gateway alone may write: it can take power away, never give it. */
export interface RuntimeNotes {
  readonly serial: number;
  readonly suspended: readonly Suspension[];
}

export interface Suspension {
  readonly label: string;
  readonly version: number;
  readonly reason: string;
  readonly at: string;
}

export interface OperatorSlot {
  readonly name: string;
  readonly keyId: KeyId;
  readonly kdf: KdfParameters;
  readonly compartment: Buffer;
  readonly serviceKey: Buffer;
}

export const CREDENTIAL_KINDS = [
  "bearer",
  "basic",
  "header",
  "oauth2",
  "jwt-bearer",
  "github-app",
  "aws-sigv4",
  "aws-role",
  "http-signature",
  "mtls",
  "ssh",
  "hmac",
] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

export interface CredentialEntry extends EntryExtras {
  readonly label: string;
  readonly kind: CredentialKind;
  readonly version: number;
  /** Origins for the HTTP kinds, host keys for ssh, pack names for hmac. Nothing else may use the secret. */
  readonly boundTo: readonly string[];
  readonly eachUse: boolean;
  readonly disabled: boolean;
  /** The header that carries the secret; null where the kind decides. */
  readonly headerName: string | null;
  /** `type base64` of an ssh key; null for the other kinds. */
  readonly publicKey: string | null;
  /** How a token is got, for the kinds whose secret is exchanged for one; null for the others. */
  readonly exchange: TokenExchange | null;
  readonly createdAt: string;
  readonly rotatedAt: string;
  /** Keyed digests of earlier secrets, to know one again; never a secret. */
  readonly retired: readonly RetiredSecret[];
  readonly sealed: Buffer;
}

export interface RetiredSecret {
  readonly version: number;
  readonly digest: Buffer;
}

/** A vault whose lineage, manifest signature and shape hold. Only `verify.ts` makes one. */
export type Vault = Brand<
  VaultContent & {
    readonly signature: Buffer;
    readonly manifestHash: Digest;
    readonly operators: readonly OperatorKeys[];
    readonly notes: RuntimeNotes;
    readonly serviceMac: Buffer;
  },
  "Vault"
>;

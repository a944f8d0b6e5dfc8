import type { PackPlace } from "../../conventions/action/place.ts";
import type { FleetLimit } from "../../conventions/budget/fleet-limit.ts";
import type { Grant } from "../../conventions/grant/grant.ts";
import type { DecisionRules } from "../../conventions/passkey/demand.ts";
import type { EnrolledPasskey } from "../../conventions/passkey/passkey.ts";
import type { Webhook } from "../../conventions/webhook/webhook.ts";
import type { Brand } from "../../kernel/brand.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import type { KeyId } from "../keys.ts";

/**
 * Everything that gives power or lowers protection, in one object that an operator signs. The gateway reads it and
 * obeys; it cannot write it, and a file edited behind our back does not verify.
 */
export interface PolicyContent {
  readonly vaultId: string;
  /** Grows by one with every signature. */
  readonly version: number;
  readonly signedAt: string;
  readonly signedBy: KeyId;
  readonly packs: readonly PackTrust[];
  /** What was last trusted under a name whose trust was taken away: a pack that comes back is reviewed against it. */
  readonly formerPacks: readonly PackTrust[];
  /** Credentials that ask on every use, beside those marked in the vault. */
  readonly eachUse: readonly string[];
  readonly callers: readonly EnrolledCaller[];
  readonly auditRecipients: readonly AuditRecipient[];
  readonly ticketIssuers: readonly TicketIssuer[];
  readonly ticketServices: readonly TicketServiceTrust[];
  /** Null while no Sigstore identity is trusted. */
  readonly sigstore: SigstoreTrust | null;
  readonly imaKeys: readonly ImaKeyTrust[];
  /** Decisions made ahead. */
  readonly grants: readonly Grant[];
  readonly settings: PolicySettings;
  /** Null in whatever is signed today. */
  readonly formerSettings: FormerSettings | null;
  /** What no run passes, where it is narrower or wider than the standard. */
  readonly ceilings: PolicyCeilings;
  /** Packs whose provider this home reaches elsewhere than they say. */
  readonly places: readonly PackPlace[];
  /** Where it is told that a card waits. */
  readonly webhooks: readonly Webhook[];
  /** Keys that only a hand can use, each signed for by its own operator. */
  readonly passkeys: readonly EnrolledPasskey[];
  /** What a yes needs beside one operator's key. */
  readonly decide: DecisionRules;
  /** The hub that gateways of this vault belong to; null for most. */
  readonly hub: HubPolicy | null;
}

/** Which gateways follow this policy, and where they meet. */
export interface HubPolicy {
  readonly hubId: string;
  readonly gateways: readonly HubGateway[];
  readonly rules: HubRules;
}

/** What these gateways do not do without their hub. */
export interface HubRules {
  /** Whether an answer waits until the log that tells of it is on the hub. */
  readonly log: "behind" | "before_answer";
  /** For how long reads of sessions that stand go on while the hub is away, where answers wait for it. */
  readonly graceS: number;
  /** Whether what is under way is on the hub too, and no side effect leaves before it is: then another gateway can take it over. */
  readonly operations: "own" | "shared";
  /** What all gateways of this vault on the hub may do on a day. */
  readonly limits: readonly FleetLimit[];
}

export const NO_HUB_RULES: HubRules = { log: "behind", graceS: 0, operations: "own", limits: [] };

/** Who a gateway is on the hub, as the operator signed it, and how it logs in there, sealed for it and the operators alone. */
export interface HubGateway {
  /** Its name on that hub. */
  readonly gateway: string;
  readonly identityKey: Buffer;
  /** Raw X25519: what is sealed for this gateway is sealed to it. */
  readonly lendingKey: Buffer;
  readonly groups: readonly string[];
  /** What it asks with on the hub while it is locked; null where nobody signed that it may. */
  readonly waiting: { readonly signingKey: Buffer; readonly readingKey: Buffer } | null;
  /** Another time means: a person has looked, and what was remembered of the hub before does not count. */
  readonly joinedAt: string;
  readonly sealed: Buffer;
}

export type HubMembership = HubGateway & Pick<HubPolicy, "hubId">;

/** Null: the standard ceiling. */
export interface PolicyCeilings {
  readonly runAttempts: number | null;
  readonly runSideEffects: number | null;
  readonly runSeconds: number | null;
  readonly runSpendCents: number | null;
  readonly daySpendCents: number | null;
}

export const NO_CEILINGS: PolicyCeilings = {
  runAttempts: null,
  runSideEffects: null,
  runSeconds: null,
  runSpendCents: null,
  daySpendCents: null,
};

export interface PackTrust {
  readonly pack: string;
  readonly digest: Digest;
}

/** An authority that the operator gives to one program image. */
export interface EnrolledCaller {
  readonly imageDigest: Digest;
  readonly authority: string;
  readonly enrolledAt: string;
}

export interface AuditRecipient {
  readonly name: string;
  readonly keyId: KeyId;
  readonly publicKey: Buffer;
}

export interface TicketIssuer {
  readonly issuer: string;
  readonly publicKey: Buffer;
}

/** A ticket of this system counts only while the service says that it is open. */
export interface TicketServiceTrust {
  readonly system: string;
  /** PACK.ACTION that reads a ticket. */
  readonly action: string;
  readonly referenceInput: string;
  /** JSON Pointers into its answer. */
  readonly referenceField: string;
  readonly stateField: string;
  readonly openStates: readonly string[];
  readonly targetsField: string | null;
  readonly operationsField: string | null;
}

/** Program images that these identities signed are theirs, as far as this trusted root vouches for them. */
export interface SigstoreTrust {
  /** Of the exact bytes of the trusted root file: who issues certificates, which logs count. */
  readonly trustedRootDigest: Digest;
  readonly identities: readonly SigstoreIdentity[];
}

/** An identity counts only as a whole: the same subject from another issuer is somebody else. */
export interface SigstoreIdentity {
  readonly name: string;
  readonly subject: string;
  readonly issuer: string;
}

/** A key whose `security.ima` signatures on program images count. */
export interface ImaKeyTrust {
  readonly name: string;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
}

/** Every setting that can lower protection. The safe value of each is in `SAFE_SETTINGS`. */
export interface PolicySettings {
  /** On: a key file or systemd credential may open the service compartment at start. */
  readonly headlessUnlock: boolean;
  /** Where the callback listener may be opened: nowhere, on a loopback address, or on any address of this machine. */
  readonly callbacks: "off" | "loopback" | "network";
}

/** What stood among the settings once and has no effect: read so that the signature over it still holds, signed no more. */
export interface FormerSettings {
  readonly mode: "guard_rail" | "dedicated";
  /** Off let every caller begin a session. A grant bounds whom, what and how long. */
  readonly session_approval: boolean;
  readonly watch_pin: boolean;
  readonly loopback_agents: boolean;
  readonly webhooks: boolean;
}

export const SAFE_SETTINGS: PolicySettings = {
  headlessUnlock: false,
  callbacks: "off",
};

/** A policy whose signature holds for this vault. Only `verify.ts` makes one. */
export type Policy = Brand<PolicyContent & { readonly signature: Buffer; readonly digest: Digest }, "Policy">;

/** The settings that stand lower than they could, for cards, status and the threat model. */
export function loweredSettings(settings: PolicySettings): readonly (keyof PolicySettings)[] {
  const names = Object.keys(SAFE_SETTINGS) as (keyof PolicySettings)[];
  return names.filter((name) => settings[name] !== SAFE_SETTINGS[name]);
}

export function isPackTrusted(policy: PolicyContent, pack: string, digest: Digest): boolean {
  return policy.packs.some((trust) => trust.pack === pack && trust.digest === digest);
}

/** The digest that was trusted last under this name, whether or not it still is. */
export function lastTrusted(policy: PolicyContent, pack: string): Digest | null {
  return [...policy.packs, ...policy.formerPacks].find((trust) => trust.pack === pack)?.digest ?? null;
}

/** Trust for exactly these bytes; whatever stood under the name before is replaced. */
export function trustPack(policy: PolicyContent, trust: PackTrust): Pick<PolicyContent, "packs" | "formerPacks"> {
  const others = (list: readonly PackTrust[]) => list.filter(({ pack }) => pack !== trust.pack);
  return { packs: [...others(policy.packs), trust], formerPacks: others(policy.formerPacks) };
}

/** Takes the trust and keeps the memory of it. */
export function removePack(policy: PolicyContent, name: string): Pick<PolicyContent, "packs" | "formerPacks"> {
  const gone = policy.packs.filter(({ pack }) => pack === name);
  return {
    packs: policy.packs.filter(({ pack }) => pack !== name),
    formerPacks:
      gone.length === 0 ? policy.formerPacks : [...policy.formerPacks.filter(({ pack }) => pack !== name), ...gone],
  };
}

/** The mark in the vault or the one in the policy: either is enough. */
export function asksEachUse(policy: PolicyContent, label: string, markedInVault: boolean): boolean {
  return markedInVault || policy.eachUse.includes(label);
}

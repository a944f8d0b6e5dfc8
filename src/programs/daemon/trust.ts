import { createPublicKey } from "node:crypto";
import type { CallerPolicy } from "../../adapters/platform/linux/evidence.ts";
import type { OperatorKey } from "../../conventions/approval/decision.ts";
import { type Ceilings, STANDARD_CEILINGS } from "../../conventions/budget/ceilings.ts";
import { NO_RULES } from "../../conventions/passkey/demand.ts";
import { type EnrolledPasskey, isEnrolledBy } from "../../conventions/passkey/passkey.ts";
import type { TicketService } from "../../conventions/ticket/lookup.ts";
import type { IssuerKey } from "../../conventions/ticket/verify.ts";
import type { Posture } from "../../gateway/posture.ts";
import { Denied } from "../../kernel/failure.ts";
import { anchorOf } from "../../vault/anchor.ts";
import type { VaultHome } from "../../vault/files/home.ts";
import { checkHighWater, type HighWater, higher } from "../../vault/high-water.ts";
import { keyIdOf, publicKeyOf } from "../../vault/keys.ts";
import type { Policy } from "../../vault/policy/policy.ts";
import { NO_CEILINGS } from "../../vault/policy/policy.ts";
import { bundlesFolder, trustedRootPath } from "../../vault/policy/sigstore-files.ts";
import type { Vault } from "../../vault/vault.ts";

/** What the gateway believes without holding any secret: the public half of the vault, and the policy if it verifies. */
export interface Trust {
  readonly vault: Vault;
  /** Null when the file was changed behind our back: the gateway then starts locked and says so. */
  readonly policy: Policy | null;
  readonly trouble: Denied | null;
}

export function readTrust(home: VaultHome): Trust {
  const vault = home.readVault();
  try {
    return { vault, policy: home.readPolicy(vault), trouble: null };
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return { vault, policy: null, trouble: error };
  }
}

/** A vault or a policy that is older than one seen before is not obeyed, however well it is signed. */
export function judgeTrust(trust: Trust, high: HighWater): Trust {
  try {
    checkHighWater(high, trust.vault, trust.policy);
    return trust;
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return { vault: trust.vault, policy: null, trouble: error };
  }
}

/** What was seen before, and what is in force now. A policy that does not hold raises nothing. */
export function raisedBy(high: HighWater, { vault, policy }: Trust): HighWater {
  const { version, digest } = policy ?? {};
  const now = version === undefined || digest === undefined ? null : { version, digest };
  return higher(high, { vault: anchorOf(vault), policy: now });
}

export function operatorKeysOf({ vault }: Trust): readonly OperatorKey[] {
  return vault.operators.map(({ name, keyId, approverKey }) => ({
    name,
    keyId,
    publicKey: publicKeyOf("ed25519", approverKey),
  }));
}

/** Passkeys that policy holds and their own operators signed for. One of an operator who is gone decides nothing. */
export function passkeysOf(trust: Trust): readonly EnrolledPasskey[] {
  const { vault, policy } = trust;
  const operators = operatorKeysOf(trust);
  return (policy?.passkeys ?? []).filter((passkey) => isEnrolledBy(passkey, vault.vaultId, operators));
}

/** What a yes needs, and where passkeys decide. */
export function decisionsIn(trust: Trust): NonNullable<Posture["decisions"]> {
  const where = [...new Set(passkeysOf(trust).map(({ origin }) => origin))];
  return { rules: trust.policy?.decide ?? NO_RULES, where };
}

/** The issuers that signed policy names. A key of theirs signs work contexts and nothing else. */
export function ticketIssuersOf({ policy }: Trust): readonly IssuerKey[] {
  return (policy?.ticketIssuers ?? []).map(({ issuer, publicKey }) => ({
    kind: "issuer",
    name: issuer,
    keyId: keyIdOf(publicKey),
    publicKey: publicKeyOf("ed25519", publicKey),
  }));
}

/** Where the gateway looks tickets up before they count. */
export function ticketServicesOf({ policy }: Trust): readonly TicketService[] {
  return policy?.ticketServices ?? [];
}

/** What a card may say of a caller's image, from signed policy alone: without one, nothing. */
export function callerPolicyOf({ policy }: Trust, home: string): CallerPolicy {
  const { callers = [], sigstore = null, imaKeys = [] } = policy ?? {};
  return {
    enrolled: new Map(callers.map(({ imageDigest, authority }) => [imageDigest, { name: authority, by: null }])),
    sigstore:
      sigstore === null
        ? null
        : {
            trustedRoot: trustedRootPath(home, sigstore.trustedRootDigest),
            trustedRootDigest: sigstore.trustedRootDigest,
            bundles: bundlesFolder(home),
            identities: sigstore.identities,
          },
    imaKeys: imaKeys.map(({ name, publicKey }) => ({ name, pem: pemOf(publicKey) })),
  };
}

function pemOf(spki: Buffer): string {
  return createPublicKey({ key: spki, format: "der", type: "spki" }).export({ format: "pem", type: "spki" }).toString();
}

/** Who can read the log: the recipients that policy names, and every operator when there is no policy to ask. */
export function auditRecipientsOf({ vault, policy }: Trust) {
  const raw =
    policy === null || policy.auditRecipients.length === 0
      ? vault.operators.map(({ readingKey }) => readingKey)
      : policy.auditRecipients.map(({ publicKey }) => publicKey);
  return raw.map((bytes) => publicKeyOf("x25519", bytes));
}

export function vaultHashOf({ vault }: Trust): Buffer {
  return Buffer.from(vault.manifestHash.slice("sha256:".length), "hex");
}

/** What no run passes: the standard ceilings, and what an operator signed instead. */
export function ceilingsIn({ policy }: Trust): Ceilings {
  const signed = policy?.ceilings ?? NO_CEILINGS;
  return {
    attempts: signed.runAttempts ?? STANDARD_CEILINGS.attempts,
    sideEffects: signed.runSideEffects ?? STANDARD_CEILINGS.sideEffects,
    durationMs: signed.runSeconds === null ? STANDARD_CEILINGS.durationMs : signed.runSeconds * 1000,
    spendCents: signed.runSpendCents ?? STANDARD_CEILINGS.spendCents,
    daySpendCents: signed.daySpendCents ?? STANDARD_CEILINGS.daySpendCents,
  };
}

import { verify } from "node:crypto";
import { canonicalJson, type Digest, digestText } from "../../kernel/canonical-json.ts";
import { type Clock, isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { type KeyId, publicKeyOf } from "../keys.ts";
import type { OperatorKeys } from "../lineage.ts";
import { policyPage, readPolicyPage, sortPolicy, writePolicyPage } from "./page.ts";
import type { Policy, PolicyContent } from "./policy.ts";

/** What of a vault a policy is measured against. */
export interface PolicyAuthority {
  readonly vaultId: string;
  readonly operators: readonly OperatorKeys[];
}

export interface PolicySigner {
  readonly keyId: KeyId;
  readonly vaultId: string;
  readonly approver: { sign(bytes: Buffer): Buffer };
}

type SignedAnew = "vaultId" | "version" | "signedAt" | "signedBy" | "formerSettings";

export type PolicyDraft = Omit<PolicyContent, SignedAnew>;

export interface RememberedPolicy {
  readonly version: number;
  readonly digest: Digest;
}

/** Text of policy.json to a policy that an operator of this vault signed. */
export function parsePolicy(page: string, authority: PolicyAuthority): Policy {
  const { content, signature } = readPolicyPage(page);
  return verifyPolicy(content, signature, authority);
}

export function policyText(policy: Policy): string {
  return writePolicyPage(policy, policy.signature);
}

/** The next version of the policy. `previous` is the verified one it replaces. */
export function signPolicy(
  draft: PolicyDraft,
  previous: Policy | null,
  signer: PolicySigner,
  authority: PolicyAuthority,
  clock: Pick<Clock, "wallMs">,
  /** After a restoration: the highest version that anybody has seen. */
  seen = 0,
): Policy {
  const content: PolicyContent = {
    ...sortPolicy(draft),
    formerSettings: null,
    vaultId: signer.vaultId,
    version: Math.max(previous?.version ?? 0, seen) + 1,
    signedAt: isoTime(clock.wallMs()),
    signedBy: signer.keyId,
  };
  // Read back what will be written, so that nothing is signed which could not be loaded again.
  const signature = signer.approver.sign(signedBytes(content));
  return parsePolicy(writePolicyPage(content, signature), authority);
}

/** Refuses a policy older than the one remembered, or another one of the same version. */
export function checkPolicyVersion(remembered: RememberedPolicy, policy: Policy): "same" | "newer" {
  if (policy.version > remembered.version) return "newer";
  if (policy.version === remembered.version && policy.digest === remembered.digest) return "same";
  throw new Denied(
    "policy_rolled_back",
    `policy.json is version ${policy.version}, and version ${remembered.version} with other content was in force before. Put the newest copy back; if it is lost, see gw restore.`,
  );
}

function verifyPolicy(content: PolicyContent, signature: Buffer, authority: PolicyAuthority): Policy {
  if (content.vaultId !== authority.vaultId) tampered("it was signed for another vault");
  const signer = authority.operators.find(({ keyId }) => keyId === content.signedBy);
  if (signer === undefined) return tampered("no operator of this vault signed it");
  const bytes = signedBytes(content);
  if (!verify(null, bytes, publicKeyOf("ed25519", signer.approverKey), signature))
    tampered("its signature does not fit");
  return { ...content, signature, digest: digestText(bytes.toString("utf8")) } as Policy;
}

function signedBytes(content: PolicyContent): Buffer {
  return Buffer.from(`gw policy v1\0${canonicalJson(policyPage(content))}`, "utf8");
}

function tampered(why: string): never {
  throw new Denied(
    "policy_tampered",
    `policy.json is not in force: ${why}. Find out who changed it, and restore a copy you trust.`,
  );
}

import { conditionWords } from "../conventions/grant/condition.ts";
import { boundsWords, callerWords } from "../conventions/grant/record.ts";
import { ruleWords } from "../surfaces/cli/vault/passkeys.ts";
import { settingRows } from "../surfaces/cli/vault/policy.ts";
import type { VaultHome } from "../vault/files/home.ts";

/** Signed policy as a person reads it: what stands lower than it could comes first. It is changed by commands. */
export interface PolicyShown {
  readonly version: number;
  readonly signed_at: string;
  readonly settings: readonly { readonly name: string; readonly value: string; readonly lowered: boolean }[];
  readonly rules: readonly { readonly name: string; readonly value: string }[];
  readonly grants: readonly { readonly name: string; readonly until: string; readonly lines: readonly string[] }[];
  readonly packs: readonly { readonly name: string; readonly digest: string }[];
  readonly callers: readonly { readonly name: string; readonly digest: string; readonly at: string }[];
  readonly operators: readonly string[];
}

export function showPolicy(home: VaultHome): PolicyShown {
  const vault = home.readVault();
  const policy = home.readPolicy(vault);
  const { passkey, twoPeople } = policy.decide;
  return {
    version: policy.version,
    signed_at: policy.signedAt,
    settings: settingRows(policy.settings).map(({ setting, value, safe }) => ({
      name: setting,
      value,
      lowered: value !== safe,
    })),
    rules: [
      { name: "a yes needs", value: passkey === null ? "any operator's key" : `a passkey for ${ruleWords(passkey)}` },
      { name: "two people approve", value: twoPeople.length === 0 ? "nothing" : twoPeople.join(", ") },
    ],
    grants: policy.grants.map((grant) => ({
      name: grant.name,
      until: grant.until,
      lines: [
        callerWords(grant),
        `${grant.actions.join(" ")} (${grant.effects.join(", ")})`,
        ...grant.conditions.map(conditionWords),
        boundsWords(grant),
      ],
    })),
    packs: policy.packs.map(({ pack, digest }) => ({ name: pack, digest })),
    callers: policy.callers.map(({ authority, imageDigest, enrolledAt }) => ({
      name: authority,
      digest: imageDigest,
      at: enrolledAt,
    })),
    operators: vault.operators.map(({ name }) => name),
  };
}

import { checkAnchor, type LoggedAnchor, type VaultAnchor } from "./anchor.ts";
import type { Policy } from "./policy/policy.ts";
import { checkPolicyVersion, type RememberedPolicy } from "./policy/verify.ts";
import type { Vault } from "./vault.ts";

/**
 * The newest vault and policy that somebody has seen: the store, the log, a running gateway, an operator's client. It only
 * rises, and a policy that does not hold is nothing that was seen.
 */
export interface HighWater {
  readonly vault: LoggedAnchor | VaultAnchor | null;
  readonly policy: RememberedPolicy | null;
}

/** Denied `vault_rolled_back`, `vault_forked` or `policy_rolled_back` for what is older than, or beside, what was seen. */
export function checkHighWater(high: HighWater, vault: Vault, policy: Policy | null): void {
  if (high.vault !== null) checkAnchor(high.vault, vault);
  if (high.policy !== null && policy !== null) checkPolicyVersion(high.policy, policy);
}

/** What `checkHighWater` and whoever remembers a vault say of something that was put back. */
export function isGoingBack(code: string): boolean {
  return ["vault_rolled_back", "vault_forked", "policy_rolled_back"].includes(code);
}

export function higher(one: HighWater, other: HighWater): HighWater {
  return {
    vault: (one.vault?.generation ?? 0) > (other.vault?.generation ?? 0) ? one.vault : (other.vault ?? one.vault),
    policy: (one.policy?.version ?? 0) > (other.policy?.version ?? 0) ? one.policy : (other.policy ?? one.policy),
  };
}

import type { Policy } from "../../../vault/policy/policy.ts";
import type { PolicyDraft } from "../../../vault/policy/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import { applyPolicyChange, type VaultCliPorts, type VaultSession } from "./session.ts";

/** Signs one change of policy: for a command that unlocked an operator for it, or for a console that holds one open. */
export type SignChange = (
  news: { readonly what: string; readonly subject: string },
  change: (policy: Policy, vault: Vault) => PolicyDraft,
) => Promise<void>;

export function signerIn(session: VaultSession, ports: VaultCliPorts): SignChange {
  return (news, change) => applyPolicyChange(session, ports, news, change);
}

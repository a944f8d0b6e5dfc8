import { NO_RULES } from "../../conventions/passkey/demand.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { HomeChange, VaultHome } from "../files/home.ts";
import { keyIdOf } from "../keys.ts";
import type { OperatorKeys } from "../lineage.ts";
import type { OpenOperator } from "../operator.ts";
import { type AuditRecipient, NO_CEILINGS, type Policy, SAFE_SETTINGS } from "./policy.ts";
import { type PolicyDraft, signPolicy } from "./verify.ts";

/** The policy a new vault starts with: nothing trusted, everything asked, the founder reads the log. */
export function firstPolicy(founder: OperatorKeys): PolicyDraft {
  return {
    packs: [],
    formerPacks: [],
    eachUse: [],
    callers: [],
    auditRecipients: [recipientOf(founder)],
    ticketIssuers: [],
    ticketServices: [],
    sigstore: null,
    imaKeys: [],
    grants: [],
    settings: SAFE_SETTINGS,
    ceilings: NO_CEILINGS,
    webhooks: [],
    passkeys: [],
    decide: NO_RULES,
    hub: null,
  };
}

export function recipientOf({ name, readingKey }: OperatorKeys): AuditRecipient {
  return { name, keyId: keyIdOf(readingKey), publicKey: readingKey };
}

/** Reads the policy in force, changes it, and signs the next version, all under the home's lock. */
export async function changePolicy(
  home: VaultHome,
  operator: OpenOperator,
  change: (policy: Policy) => PolicyDraft,
  clock: Pick<Clock, "wallMs">,
): Promise<Policy> {
  const { policy } = await home.change((vault): HomeChange & { readonly policy: Policy } => {
    const current = home.readPolicy(vault);
    return { policy: signPolicy(change(current), current, operator, vault, clock) };
  });
  return policy;
}

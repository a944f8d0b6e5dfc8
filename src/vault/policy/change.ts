import { NO_RULES } from "../../conventions/passkey/demand.ts";
import { keyIdOf } from "../keys.ts";
import type { OperatorKeys } from "../lineage.ts";
import { type AuditRecipient, NO_CEILINGS, SAFE_SETTINGS } from "./policy.ts";
import type { PolicyDraft } from "./verify.ts";

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
    places: [],
    passkeys: [],
    decide: NO_RULES,
    hub: null,
  };
}

export function recipientOf({ name, readingKey }: OperatorKeys): AuditRecipient {
  return { name, keyId: keyIdOf(readingKey), publicKey: readingKey };
}

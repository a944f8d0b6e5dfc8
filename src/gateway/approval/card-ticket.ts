import type { CardTicket } from "../../conventions/approval/card.ts";
import { splitReference } from "../../conventions/ticket/context.ts";
import type { TicketEvidence } from "../../conventions/ticket/verify.ts";

/** The verified context as a person reads it: who vouches for it, until when, and for what exactly. */
export function cardTicket({ context, issuer, scopeDigest }: TicketEvidence): CardTicket {
  return {
    ...splitReference(context.ticket_ref),
    observed_state: context.observed_state,
    issued_by: issuer.name,
    issued_by_kind: issuer.kind,
    issued_at: context.issued_at,
    expires_at: context.expires_at,
    scope_digest: scopeDigest,
    allowed_operations: context.allowed_operations,
    allowed_targets: context.allowed_targets,
    emergency: context.emergency ?? null,
    batch: context.batch ?? null,
  };
}

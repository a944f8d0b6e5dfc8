import { Denied } from "../../kernel/failure.ts";
import { type CallTarget, coversTarget, readTarget } from "./target.ts";
import { type TicketEvidence, ticketExpired } from "./verify.ts";

/** What a call needs the ticket to cover. */
export interface TicketedCall extends CallTarget {
  readonly runId: string;
  /** PACK.ACTION. */
  readonly operation: string;
}

/** The evidence when it covers exactly this call, now; denied with the first reason why not. */
export function requireCovered(
  evidence: TicketEvidence | null,
  call: TicketedCall,
  now: { readonly bootMs: number; isIssuer(keyId: string): boolean },
): TicketEvidence {
  if (evidence === null) {
    throw new Denied(
      "ticket_required",
      `${call.operation} needs a work context that an operator or a trusted issuer signed for this run. A reference that the agent gives is a claim and is not enough.`,
    );
  }
  const { context } = evidence;
  if (context.issued_for_run !== call.runId) {
    throw new Denied("ticket_wrong_run", "The work context was issued for another run. It is never carried over.");
  }
  if (!now.isIssuer(evidence.issuer.keyId)) {
    throw new Denied("ticket_signature_invalid", "Whoever signed the work context is no longer trusted to.");
  }
  if (now.bootMs >= evidence.expiresBootMs) throw ticketExpired(context);
  if (!context.allowed_operations.includes(call.operation)) {
    throw new Denied("ticket_scope_mismatch", `The ticket does not cover the operation ${call.operation}.`);
  }
  if (!context.allowed_targets.some((target) => coversTarget(readTarget(target), call))) {
    throw new Denied("ticket_scope_mismatch", `The ticket does not cover the target ${call.location} as it is called.`);
  }
  return evidence;
}

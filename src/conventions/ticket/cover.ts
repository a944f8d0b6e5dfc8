import { Denied } from "../../kernel/failure.ts";
import { type CallTarget, coversTarget, readTarget, sayUncovered } from "./target.ts";
import { type TicketEvidence, ticketExpired } from "./verify.ts";

/** What a call needs the ticket to cover. */
export interface TicketedCall extends CallTarget {
  readonly runId: string;
  /** PACK.ACTION. */
  readonly operation: string;
}

/** What of the moment a context depends on, whatever the call is. */
export interface Now {
  readonly bootMs: number;
  isIssuer(keyId: string): boolean;
}

/** A context that counted once does so while its issuer is trusted and its time is not over. */
export function requireInForce(evidence: TicketEvidence, now: Now): void {
  if (!now.isIssuer(evidence.issuer.keyId)) {
    throw new Denied("ticket_signature_invalid", "Whoever signed the work context is no longer trusted to.");
  }
  if (now.bootMs >= evidence.expiresBootMs) throw ticketExpired(evidence.context);
}

/** The evidence when it covers exactly this call, now; denied with the first reason why not. */
export function requireCovered(evidence: TicketEvidence | null, call: TicketedCall, now: Now): TicketEvidence {
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
  requireInForce(evidence, now);
  if (!context.allowed_operations.includes(call.operation)) {
    throw new Denied("ticket_scope_mismatch", `The ticket does not cover the operation ${call.operation}.`);
  }
  const targets = context.allowed_targets.map(readTarget);
  if (!targets.some((target) => coversTarget(target, call))) {
    throw new Denied("ticket_scope_mismatch", `The ticket does not cover the target ${sayUncovered(targets, call)}.`);
  }
  return evidence;
}

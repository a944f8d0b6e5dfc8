import { type Card, digestCard } from "../../conventions/approval/card.ts";
import type { DecisionStatement, Narrowing } from "../../conventions/approval/decision.ts";
import { type Assignment, composeContext } from "../../conventions/ticket/compose.ts";
import { signContext } from "../../conventions/ticket/sign.ts";
import { type Clock, isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { OpenOperator } from "../../vault/operator.ts";
import type { ApprovalView } from "../operator/answers.ts";

export interface Decision {
  readonly decision: "approve" | "deny";
  readonly reason: string | null;
  readonly narrow: Narrowing | null;
  /** What the operator assigns with an approval. */
  readonly ticket?: TicketEntered | null;
}

/** A ticket as it is entered on a card. */
export type TicketEntered = Pick<Assignment, "ref" | "state" | "emergency"> & {
  /** Only on the card of a session: one that needs a ticket for its call names operation and target itself. */
  readonly covers?: Pick<Assignment, "operations" | "targets">;
};

/** The head of the gateway's log that came with the card. */
export interface SeenHead {
  readonly frame: number | string;
  readonly link: string;
}

/** What an operator signs for this card, by whichever way the card came. */
export async function draftDecision(
  approval: ApprovalView,
  { decision, reason, narrow: asked, ticket = null }: Decision,
  operator: OpenOperator,
  log: SeenHead,
  clock: Pick<Clock, "wallMs">,
  knows?: DecisionStatement["knows"],
): Promise<DecisionStatement> {
  // Signed is the digest of the card that was shown, never one that somebody claims for it.
  const shown = digestCard(approval.card);
  if (shown !== approval.card_digest || approval.card.approval_id !== approval.approval_id) {
    throw new Denied("card_mismatch", "The card is not the one that its digest names. Nothing was signed.");
  }
  // Two people approve the same thing: what the first took away stays away.
  const narrow = decision === "approve" ? (asked ?? approval.given[0]?.narrow ?? null) : null;
  const assigned =
    decision === "approve" && ticket !== null ? await assign(approval.card, ticket, narrow, operator, clock) : {};
  return {
    format: "gw.decision/v1",
    vault_id: operator.vaultId,
    approval_id: approval.approval_id,
    card_digest: shown,
    decision,
    reason,
    narrow,
    operator: operator.name,
    operator_key_id: operator.keyId,
    decided_at: isoTime(clock.wallMs()),
    log_head: { frame: String(log.frame), link: log.link },
    ...(knows === undefined ? {} : { knows }),
    ...assigned,
  };
}

/** Covers exactly what the card that is signed says is missing. */
async function assign(
  { run, ticket_needed: need }: Card,
  { covers, ...entered }: TicketEntered,
  narrow: Narrowing | null,
  operator: OpenOperator,
  clock: Pick<Clock, "wallMs">,
): Promise<Pick<DecisionStatement, "ticket_context">> {
  const what = need === undefined ? covers : { operations: [need.operation], targets: [need.target] };
  if (what === undefined || (need !== undefined && covers !== undefined)) {
    throw new Denied("ticket_invalid", "This card takes no ticket of that kind. Nothing was signed.");
  }
  // What the run is not granted, its ticket does not get either.
  const cutSeconds = run.budget.duration_seconds - (narrow?.budget?.duration_seconds ?? run.budget.duration_seconds);
  const deadlineMs = Date.parse(run.deadline_at) - Math.max(0, cutSeconds) * 1000;
  const bounds = { id: run.run_id, deadlineMs };
  const context = composeContext({ ...entered, ...what }, bounds, operator.name, clock.wallMs());
  return { ticket_context: await signContext(context, { keyId: operator.keyId, key: operator.approver.key }) };
}

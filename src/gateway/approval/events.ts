import type { NewEvent } from "../../audit/event.ts";
import { type DecisionStatement, type Signed, statementBytes } from "../../conventions/approval/decision.ts";
import { canonicalJson, digestText } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { contentEvents } from "../record/content.ts";
import type { Envelope } from "../record/record.ts";
import type { Approval, Question } from "./question.ts";

/** That a card was shown, and the card itself: the very text whose digest a person signs. */
export function requestedEvents(envelope: Envelope, approval: Approval, question: Question): NewEvent[] {
  const { card } = approval;
  return [
    ...(card === null ? [] : contentEvents(envelope, "card", canonicalJson(card as unknown as JsonObject))),
    {
      ...envelope("approval_requested"),
      ...links(approval),
      mode: question.mode,
      card_digest: approval.cardDigest ?? "",
      caller: approval.callerKey,
      ...(card === null ? {} : { authority: card.authority }),
      expires_at: card?.expires_at ?? "",
      ...(question.action === null ? {} : { action: question.action }),
    },
  ];
}

/** The statement that was signed, whole: with it the signature can be checked by whoever reads the log. */
export function statementEvents(envelope: Envelope, { statement }: Signed<DecisionStatement>): NewEvent[] {
  return contentEvents(envelope, "decision", statementBytes(statement).toString("utf8"));
}

/** The decision with the signature that proves it, and the head of the log that the person saw. */
export function decisionEvent<Type extends "approval_approved" | "approval_denied">(
  envelope: Envelope,
  type: Type,
  approval: Approval,
  { statement, signature }: Signed<DecisionStatement>,
) {
  return {
    ...envelope(type),
    ...links(approval),
    operator: statement.operator,
    operator_key_id: statement.operator_key_id,
    card_digest: statement.card_digest,
    signature,
    signed_at: statement.decided_at,
    head_frame: Number(statement.log_head.frame),
    head_link: statement.log_head.link,
    statement_digest: digestText(statementBytes(statement).toString("utf8")),
  } as const;
}

export function links(approval: Approval) {
  return {
    approval_id: approval.approvalId,
    run_id: approval.runId,
    ...(approval.callId === null ? {} : { call_id: approval.callId }),
  };
}

import type { NewEvent } from "../../audit/event.ts";
import type { DecisionStatement, Signed } from "../../conventions/approval/decision.ts";
import type { Envelope } from "../record/record.ts";
import type { Approval, Question } from "./question.ts";

export function requestedEvent(envelope: Envelope, approval: Approval, question: Question): NewEvent {
  return {
    ...envelope("approval_requested"),
    ...links(approval),
    mode: question.mode,
    card_digest: approval.cardDigest ?? "",
    caller: approval.callerKey,
    expires_at: approval.card?.expires_at ?? "",
    ...(question.action === null ? {} : { action: question.action }),
  };
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
  } as const;
}

export function links(approval: Approval) {
  return {
    approval_id: approval.approvalId,
    run_id: approval.runId,
    ...(approval.callId === null ? {} : { call_id: approval.callId }),
  };
}

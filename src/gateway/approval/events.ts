import type { KeyObject } from "node:crypto";
import type { NewEvent } from "../../audit/event.ts";
import { rawPublicOf } from "../../audit/keys/raw.ts";
import {
  type ExtensionStatement,
  type GivenDecision,
  statementBytes,
  type Verified,
} from "../../conventions/approval/decision.ts";
import { assertionRecord } from "../../conventions/passkey/assertion.ts";
import { type EnrolledPasskey, passkeyRecord } from "../../conventions/passkey/passkey.ts";
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

/** What was signed, whole, and with which passkey: with them both signatures can be checked by whoever reads the log. */
export function statementEvents(envelope: Envelope, given: GivenDecision, passkey: EnrolledPasskey | null): NewEvent[] {
  const hand = handText(given, passkey);
  return [
    ...contentEvents(envelope, "decision", statementBytes(given.statement).toString("utf8")),
    ...(hand === null ? [] : contentEvents(envelope, "assertion", hand)),
  ];
}

function handText({ assertion }: GivenDecision, passkey: EnrolledPasskey | null): string | null {
  if (assertion === undefined || passkey === null) return null;
  return canonicalJson({ passkey: passkeyRecord(passkey), assertion: assertionRecord(assertion) });
}

/** The same with the operator's key that signed for the passkey: all that it takes to check it without the log's keys. */
export function clearHand(
  { assertion, statement }: GivenDecision,
  passkey: EnrolledPasskey | null,
  vaultId: string,
  operatorKey: KeyObject,
): string | null {
  if (assertion === undefined || passkey === null) return null;
  return canonicalJson({
    vault_id: vaultId,
    operator_key: rawPublicOf("ed25519", operatorKey).toString("base64url"),
    statement_digest: statementDigest(statement),
    passkey: passkeyRecord(passkey),
    assertion: assertionRecord(assertion),
  });
}

/** The decision with the signature that proves it, and the head of the log that the person saw. */
export function decisionEvent<Type extends "approval_given" | "approval_approved" | "approval_denied">(
  envelope: Envelope,
  type: Type,
  approval: Approval,
  given: GivenDecision,
  passkey: EnrolledPasskey | null,
) {
  const { statement, signature } = given;
  const hand = handText(given, passkey);
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
    statement_digest: statementDigest(statement),
    ...(hand === null ? {} : { assertion_digest: digestText(hand) }),
  } as const;
}

/** More time for a card, as it was signed on another machine. */
export function extendedEvent(
  envelope: Envelope,
  approval: Approval,
  { statement, signature }: Verified<ExtensionStatement>,
) {
  return {
    ...envelope("card_extended"),
    ...links(approval),
    seconds: statement.seconds,
    operator: statement.operator,
    statement: statementBytes(statement).toString("utf8"),
    signature,
  } as const;
}

function statementDigest(statement: GivenDecision["statement"]) {
  return digestText(statementBytes(statement).toString("utf8"));
}

export function links(approval: Approval) {
  return {
    approval_id: approval.approvalId,
    run_id: approval.runId,
    ...(approval.callId === null ? {} : { call_id: approval.callId }),
  };
}

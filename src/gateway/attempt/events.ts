import { plainUrl } from "../../audit/event/attempts.ts";
import type { Asked, NewEvent } from "../../audit/event.ts";
import { describeSend, reachedBy } from "../../conventions/action/send.ts";
import { digestBody } from "../../conventions/action/spooled.ts";
import { attemptsRemaining, spendRemainingCents } from "../../conventions/budget/budget.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import { type CostRecord, reservationRecord } from "../../conventions/budget/record.ts";
import type { Verdict } from "../../conventions/outcome/classify.ts";
import { digestBytes, digestText } from "../../kernel/canonical-json.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { describeAuthorization } from "../approval/authorize.ts";
import { reservedFor } from "../outbound/admit.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { contentEvents } from "../record/content.ts";
import {
  budgetFields,
  destinationClass,
  type Enveloped,
  nameCaller,
  operationOf,
  requestFields,
} from "../record/record.ts";
import type { AttemptNeeds } from "./needs.ts";
import { type Attempted, type CustodySending, isPreview, type Sending, type Shot } from "./sending.ts";

/** What must be on disk before the send: that it is about to happen, under whose authority, and what it may cost. */
export function intentEvents(
  core: Pick<AttemptNeeds, "envelope" | "ports">,
  sending: Sending | CustodySending,
  attemptId: string,
  reservation: Reservation,
): NewEvent[] {
  const { run, outbound, authorization } = sending;
  const { text } = outbound.bound.kept;
  if (outbound.textKept !== true && !isPreview(outbound) && text.length <= defaults.logInlineUnits) {
    return [...contextEvents(sending), begunRecord(core, sending, attemptId, reservation, text)];
  }
  const told = [...contextEvents(sending), ...keptEvents(core, outbound)];
  if (!isPreview(outbound)) return [...told, begunRecord(core, sending, attemptId, reservation)];
  const url = shownUrlOf(sending);
  const { kept } = outbound.bound;
  return [
    ...told,
    ...grantEvents(core, sending, attemptId, reachedBy(sending.request, url).target),
    {
      ...core.envelope("preview_requested"),
      event_id: attemptId,
      run_id: run.id,
      ...links(sending, attemptId),
      action: outbound.action,
      ...traceFields(sending),
      url,
      request_digest: outbound.requestDigest,
      kept_digest: kept.whole ? outbound.requestDigest : digestText(kept.text),
      kept_whole: kept.whole,
      request: requestFields(outbound, sending.callId, describeAuthorization(authorization), null),
    },
    {
      ...core.envelope("budget_reserved"),
      ...links(sending, attemptId),
      ...budgetFields(run.budget, outbound, {
        attempt: reservation.attempt,
        outcome: "allow",
        reason: null,
        elapsedMs: 0,
      }),
      ...reservationRecord(run.budget, reservedFor(outbound), "allow"),
    },
  ];
}

/** The intent in one record: a reader meets the request, where it is told here, the grant, the intent, its start and the reservation. */
function begunRecord(
  core: Pick<AttemptNeeds, "ports">,
  sending: Sending | CustodySending,
  attemptId: string,
  reservation: Reservation,
  keptText?: string,
): NewEvent {
  const { outbound, request, authorization } = sending;
  const url = shownUrlOf(sending);
  const { destination, path } = reachedBy(request, url);
  const { method, payload, mediaType } = describeSend(request);
  const { kept } = outbound.bound;
  const boundary = outbound.reach.destination;
  const { approvalId, authorizedBy } = authorization;
  const first = authorization.told !== true;
  const envelope = {
    event_id: attemptId,
    event_type: keptText === undefined ? "attempt_begun" : "call_begun",
    occurred_at: isoTime(core.ports.clock.wallMs()),
  } as const;
  return {
    ...factsOf(envelope, sending, reservation),
    authorized_by: first ? authorizedBy : undefined,
    approval_id: first ? (approvalId ?? undefined) : undefined,
    caller: sending.custody === undefined ? nameCaller(sending.session.caller) : sending.session.caller.key,
    destination,
    target_boundary: boundary === destination ? undefined : boundary,
    method,
    path,
    url: url === plainUrl(outbound.channel, destination, path) ? undefined : url,
    payload_sha256: payload === null ? undefined : digestBody(payload),
    media_type: mediaType ?? undefined,
    traceparent_claimed: sending.traceparent ?? undefined,
    request_digest: outbound.requestDigest,
    kept_digest: kept.whole ? undefined : digestText(kept.text),
    kept_text: keptText,
  } as NewEvent;
}

/**
 * What both records of an attempt say. What there is not is undefined, and the log leaves it out: a record is put together
 * for every send, and one whose members come and go takes several times as long.
 */
function factsOf<Type extends NewEvent["event_type"]>(
  { event_id, event_type, occurred_at }: Enveloped<Type>,
  { run, callId, session, operationId, outbound, authorization }: Sending | CustodySending,
  reservation: Reservation,
) {
  const { budget } = run;
  return {
    event_id,
    event_type,
    occurred_at,
    run_id: run.id,
    call_id: callId,
    session_id: session.id,
    operation_id: operationId,
    action: outbound.action,
    channel: outbound.channel,
    authorization: describeAuthorization(authorization),
    version_selector: outbound.versionSelector ?? undefined,
    normalized_operation: operationOf(outbound),
    credential_label: outbound.credential ?? undefined,
    attempt: reservation.attempt,
    destination_class: destinationClass(outbound),
    attempts_remaining: attemptsRemaining(budget),
    reserved_spend_cents: budget.reservedSpendCents,
    deadline_at: budget.deadlineAt,
    spend_remaining_cents: spendRemainingCents(budget),
    maximum_cents: reservedFor(outbound).maximum_cents,
  };
}

function traceFields({ traceparent }: Sending | CustodySending) {
  return traceparent == null ? {} : { traceparent_claimed: traceparent };
}

function keptEvents(core: Pick<AttemptNeeds, "envelope">, outbound: Outbound): NewEvent[] {
  if (outbound.textKept === true) return [];
  const { kept } = outbound.bound;
  return contentEvents(core.envelope, "request", kept.text, kept.whole ? outbound.requestDigest : undefined);
}

/** Where this very attempt goes; what a redirect may have copied from a hidden argument is hidden with it. */
function shownUrlOf({ outbound: { bound }, request }: Shot): string {
  const { url } = describeSend(request);
  const first = describeSend(bound).url;
  if (url === first) return bound.kept.url;
  return bound.kept.url === first ? url : `${new URL(url).origin}/…`;
}

/** Contexts that the log already knows. */
const told = new WeakSet<NewEvent>();

export function isTold(context: NewEvent): boolean {
  return told.has(context);
}

function contextEvents({ context }: Shot): NewEvent[] {
  return context === undefined || told.has(context) ? [] : [context];
}

/** From here on the log has it: an intent that could not be written leaves the next one to tell. */
export function tellGranted({ authorization, outbound, context }: Shot): void {
  authorization.told = true;
  if (context !== undefined) told.add(context);
  outbound.textKept = true;
}

/** That it was allowed is evidence of its own, kept apart from what was done under it. */
function grantEvents(
  core: Pick<AttemptNeeds, "envelope">,
  sending: Sending | CustodySending,
  attemptId: string,
  target: string,
): NewEvent[] {
  const { run, outbound, authorization } = sending;
  if (authorization.told === true) return [];
  const { approvalId, authorizedBy } = authorization;
  return [
    {
      ...core.envelope("authorization_granted"),
      run: run.id,
      action: outbound.action,
      target,
      ...links(sending, attemptId),
      ...(approvalId === null ? {} : { approval_id: approvalId }),
      authorized_by: authorizedBy,
      request_digest: outbound.requestDigest,
    },
  ];
}

/** What is known once it ended, each fact with the evidence that supports it and no more. */
export function completionRecord(
  core: Pick<AttemptNeeds, "envelope">,
  sending: Sending | CustodySending,
  attempted: Attempted,
  startedAt: string,
  asked?: Asked,
): NewEvent {
  // What a preview found is written by whoever reads it.
  if (isPreview(sending.outbound)) return previewSettled(core, sending, attempted);
  const { run, outbound } = sending;
  const { reservation, verdict, observation, cost } = attempted;
  const answered = observation.kind === "answered" ? observation : null;
  const streamed = "streamed" in observation ? observation.streamed : undefined;
  return {
    ...factsOf(core.envelope(asked === undefined ? "attempt_ended" : "call_ended"), sending, reservation),
    attempt_id: attempted.attemptId,
    started_at: startedAt,
    target_boundary: outbound.reach.destination,
    unobserved: verdict.kind === "unknown" ? true : undefined,
    outcome: outcomeOf(verdict),
    reason: "reason" in verdict ? verdict.reason : undefined,
    elapsed_ms: Math.round(observation.elapsedMs),
    remote_status: answered?.status ?? undefined,
    provider_request_id: answered?.remoteRequestId ?? undefined,
    transport_observation: observation.kind,
    // What the answer was, as far as it came: one that was passed on while it came has its size too.
    response_digest: streamed?.digest ?? (answered === null ? undefined : digestBytes(answered.body)),
    streamed_bytes: streamed?.bytes,
    recording_digest: "recordingDigest" in observation ? observation.recordingDigest : undefined,
    settled_spend_cents: run.budget.settledSpendCents,
    charge_basis: cost.basis,
    charged_cents: cost.charged_cents ?? undefined,
    overage_cents: cost.overage_cents === 0 ? undefined : cost.overage_cents,
    asked,
  } as NewEvent;
}

function previewSettled(
  core: Pick<AttemptNeeds, "envelope">,
  sending: Sending | CustodySending,
  { attemptId, reservation, verdict, observation, cost }: Attempted,
): NewEvent {
  const { run, outbound } = sending;
  return {
    ...core.envelope("budget_settled"),
    parent_event_id: attemptId,
    ...links(sending, attemptId),
    ...budgetFields(run.budget, outbound, {
      attempt: reservation.attempt,
      outcome: outcomeOf(verdict),
      reason: "reason" in verdict ? verdict.reason : null,
      elapsedMs: observation.elapsedMs,
    }),
    settled_spend_cents: run.budget.settledSpendCents,
    ...chargeFields(cost),
    ...reservationRecord(
      run.budget,
      reservedFor(outbound, observation.kind === "answered" ? observation.remoteRequestId : null),
      "allow",
    ),
  };
}

function chargeFields(cost: CostRecord) {
  return {
    charge_basis: cost.basis,
    ...(cost.charged_cents === null ? {} : { charged_cents: cost.charged_cents }),
    ...(cost.overage_cents === 0 ? {} : { overage_cents: cost.overage_cents }),
  };
}

export function links({ callId, session, operationId }: Sending | CustodySending, attemptId: string) {
  const base = { call_id: callId, attempt_id: attemptId, session_id: session.id };
  return operationId === undefined ? base : { ...base, operation_id: operationId };
}

function outcomeOf(verdict: Verdict): "succeeded" | "failed" | "unknown" {
  switch (verdict.kind) {
    case "success":
    case "redirect":
      return "succeeded";
    case "error":
      return "failed";
    case "accepted":
    case "unknown":
      return "unknown";
  }
}

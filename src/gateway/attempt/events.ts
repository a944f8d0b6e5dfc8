import type { NewEvent } from "../../audit/event.ts";
import { describeSend, reachedBy } from "../../conventions/action/send.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import { reservationRecord } from "../../conventions/budget/record.ts";
import type { Verdict } from "../../conventions/outcome/classify.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { digestBytes, digestText } from "../../kernel/canonical-json.ts";
import { type Authorization, describeAuthorization } from "../approval/authorize.ts";
import type { Core } from "../core.ts";
import { reservedFor } from "../outbound/admit.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { contentEvents } from "../record/content.ts";
import { budgetFields, nameCaller, requestFields } from "../record/record.ts";
import { type Attempted, type CustodySending, isPreview, type Sending, type Shot } from "./sending.ts";

/** What must be on disk before the send: that it is about to happen, under whose authority, and what it may cost. */
export function intentEvents(
  core: Core,
  sending: Sending | CustodySending,
  attemptId: string,
  reservation: Reservation,
): NewEvent[] {
  const { run, outbound, request, authorization } = sending;
  const shownUrl = shownUrlOf(sending);
  const { destination, target, path } = reachedBy(request, shownUrl);
  const { method, payload, mediaType } = describeSend(request);
  const fields = requestFields(outbound, sending.callId, describeAuthorization(authorization), null);
  const reserved: NewEvent = {
    ...core.envelope("budget_reserved"),
    ...links(sending, attemptId),
    ...budgetFields(run.budget, outbound, {
      attempt: reservation.attempt,
      outcome: "allow",
      reason: null,
      elapsedMs: 0,
    }),
    ...reservationRecord(run.budget, reservedFor(outbound), "allow"),
  };
  const granted = [
    ...contextEvents(sending),
    ...keptEvents(core, outbound),
    ...grantEvents(core, sending, attemptId, target),
  ];
  const { kept } = outbound.bound;
  const trace = sending.traceparent == null ? {} : { traceparent_claimed: sending.traceparent };
  const sent = {
    url: shownUrl,
    request_digest: outbound.requestDigest,
    kept_digest: kept.whole ? outbound.requestDigest : digestText(kept.text),
    kept_whole: kept.whole,
  };
  if (isPreview(outbound)) {
    return [
      ...granted,
      {
        ...core.envelope("preview_requested"),
        event_id: attemptId,
        run_id: run.id,
        ...links(sending, attemptId),
        action: outbound.action,
        ...trace,
        ...sent,
        request: fields,
      },
      reserved,
    ];
  }
  return [
    ...granted,
    {
      ...core.envelope("intent_accepted"),
      event_id: attemptId,
      run_id: run.id,
      ...links(sending, attemptId),
      action_id: attemptId,
      operation_id: sending.operationId ?? null,
      channel: outbound.channel,
      destination,
      method,
      path,
      payload_sha256: payload === null ? null : digestBytes(payload),
      authorization: describeAuthorization(authorization),
      action: outbound.action,
      caller: sending.custody === undefined ? nameCaller(sending.session.caller) : sending.session.caller.key,
      media_type: mediaType,
      ...trace,
      ...sent,
      request: fields,
    },
    {
      ...core.envelope("action_started"),
      run: run.id,
      parent_event_id: attemptId,
      ...links(sending, attemptId),
      transport: outbound.channel,
      operation: outbound.action,
      request_id: attemptId,
    },
    reserved,
  ];
}

/** Requests whose text the log already has: a retry names it by its digest. */
const keptBefore = new WeakSet<Outbound>();

function keptEvents(core: Core, outbound: Outbound): NewEvent[] {
  if (keptBefore.has(outbound)) return [];
  return contentEvents(core.envelope, "request", outbound.bound.kept.text);
}

/** Where this very attempt goes; what a redirect may have copied from a hidden argument is hidden with it. */
function shownUrlOf({ outbound: { bound }, request }: Shot): string {
  const { url } = describeSend(request);
  const first = describeSend(bound).url;
  if (url === first) return bound.kept.url;
  return bound.kept.url === first ? url : `${new URL(url).origin}/…`;
}

/** Authorizations and contexts that the log already knows: retries and confirming reads rest on those of their call. */
const told = new WeakSet<Authorization | NewEvent>();

export function isTold(context: NewEvent): boolean {
  return told.has(context);
}

function contextEvents({ context }: Shot): NewEvent[] {
  return context === undefined || told.has(context) ? [] : [context];
}

/** From here on the log has it: an intent that could not be written leaves the next one to tell. */
export function tellGranted({ authorization, outbound, context }: Shot): void {
  told.add(authorization);
  if (context !== undefined) told.add(context);
  keptBefore.add(outbound);
}

/** That it was allowed is evidence of its own, kept apart from what was done under it. */
function grantEvents(core: Core, sending: Sending | CustodySending, attemptId: string, target: string): NewEvent[] {
  const { run, outbound, authorization } = sending;
  if (told.has(authorization)) return [];
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
export function completionEvents(
  core: Core,
  sending: Sending | CustodySending,
  { attemptId, reservation, verdict, observation, cost }: Attempted,
): NewEvent[] {
  const { run, outbound, authorization } = sending;
  const status = observation.kind === "answered" ? observation.status : null;
  const reason = "reason" in verdict ? verdict.reason : null;
  const outcome = outcomeOf(verdict);
  const request = requestFields(outbound, sending.callId, describeAuthorization(authorization), status);
  const elapsed_ms = Math.round(observation.elapsedMs);
  const joined = { parent_event_id: attemptId, ...links(sending, attemptId) };
  const settled: NewEvent = {
    ...core.envelope("budget_settled"),
    ...joined,
    ...budgetFields(run.budget, outbound, {
      attempt: reservation.attempt,
      outcome,
      reason,
      elapsedMs: observation.elapsedMs,
    }),
    settled_spend_cents: run.budget.settledSpendCents,
    charge_basis: cost.basis,
    ...(cost.charged_cents === null ? {} : { charged_cents: cost.charged_cents }),
    ...(cost.overage_cents === 0 ? {} : { overage_cents: cost.overage_cents }),
    ...reservationRecord(
      run.budget,
      reservedFor(outbound, observation.kind === "answered" ? observation.remoteRequestId : null),
      "allow",
    ),
  };
  // What a preview found is written by whoever reads it.
  if (isPreview(outbound)) return [settled];
  const events: NewEvent[] = [];
  if (verdict.kind === "unknown") {
    events.push({
      ...core.envelope("outcome_unobserved"),
      run_id: run.id,
      ...joined,
      reason: verdict.reason,
      elapsed_ms,
      request,
    });
  }
  events.push(
    {
      ...core.envelope("action_finished"),
      run: run.id,
      ...joined,
      outcome,
      remote_status: status,
      request_id: attemptId,
      provider_request_id: observation.kind === "answered" ? observation.remoteRequestId : null,
      transport_observation: observation.kind,
      ...answerFields(observation),
      ...("recordingDigest" in observation ? { recording_digest: observation.recordingDigest } : {}),
      confirmed: false,
      reason,
      elapsed_ms,
      evidence: observation.kind === "answered" ? "remote_receipt" : "local_completion",
      request,
    },
    settled,
  );
  return events;
}

/** What the answer was, as far as it came: one that was passed on while it came has its size too. */
function answerFields(observation: TransportObservation) {
  if ("streamed" in observation && observation.streamed !== undefined) {
    const { bytes, digest } = observation.streamed;
    return { response_digest: digest, streamed_bytes: bytes };
  }
  return { response_digest: observation.kind === "answered" ? digestBytes(observation.body) : null };
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

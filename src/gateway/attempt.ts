import type { NewEvent } from "../audit/event.ts";
import { decideReservation, type Reservation } from "../conventions/budget/decide.ts";
import { settleReservation } from "../conventions/budget/settle.ts";
import { classifyObservation, type Verdict } from "../conventions/outcome/classify.ts";
import type { TransportObservation } from "../conventions/outcome/observation.ts";
import { digestBytes } from "../kernel/canonical-json.ts";
import { Denied } from "../kernel/failure.ts";
import type { CallId } from "../kernel/ids.ts";
import { askOf, budgetDenied, requireStanding } from "./admit.ts";
import { type Authorization, describeAuthorization } from "./authorize.ts";
import { type Core, now, requireUnlocked } from "./core.ts";
import type { Outbound } from "./outbound.ts";
import type { IntentReceipt, OutboundHttp, StateRow } from "./ports.ts";
import { budgetFields, nameCaller, requestFields } from "./record.ts";
import { runRow } from "./rows.ts";
import type { Run, Session } from "./run.ts";

/** What one send needs to know. Retries and redirects change `request` and `credential`; nothing else. */
export interface Sending {
  readonly run: Run;
  readonly session: Session;
  readonly callId: CallId;
  readonly outbound: Outbound;
  readonly authorization: Authorization;
  readonly request: OutboundHttp;
  /** The label to lend, or null where the redirect rule stripped it. */
  readonly credential: string | null;
}

export interface Attempted {
  readonly attemptId: string;
  readonly observation: TransportObservation;
  readonly verdict: Verdict;
}

/**
 * Steps 7 to 12 for one send: reserve, make the intent durable, send, classify, settle. Every retry, redirect, poll, page
 * and cancel passes through here, so that nothing outside escapes budget or log.
 */
export async function attempt(core: Core, sending: Sending): Promise<Attempted> {
  const { run, session, outbound } = sending;
  requireStanding(core, run, session);
  const { reservation, timeoutMs } = await reserve(core, sending);
  const attemptId = core.ports.ids.next("evt");
  const intent = intentEvents(core, sending, attemptId, reservation);
  const receipt = await core.ledger.intent(
    intent,
    [runRow(run), attemptRow(sending, attemptId, "sent", reservation)],
    outbound.sideEffect,
  );
  const startedAt = core.envelope("transport_started");
  const observation = await send(core, sending, receipt, timeoutMs);
  const verdict = classifyObservation(observation, outbound.sideEffect);
  run.budget = settle(run, reservation, verdict);
  const state = verdict.kind === "unknown" ? "unknown" : "settled";
  await core.ledger.record(
    [
      {
        ...startedAt,
        run_id: run.id,
        ...links(sending, attemptId),
        transport: "http",
        request_id: attemptId,
        attempt: reservation.attempt,
      },
      ...completionEvents(core, sending, attemptId, reservation, verdict, observation),
    ],
    [runRow(run), attemptRow(sending, attemptId, state, reservation)],
  );
  return { attemptId, observation, verdict };
}

/** Step 7. The budget of the run is taken down before anything else can look at it: this is the one transaction. */
async function reserve(core: Core, sending: Sending): Promise<{ reservation: Reservation; timeoutMs: number }> {
  const { run, outbound } = sending;
  const decided = decideReservation(run.budget, askOf(outbound), now(core));
  run.budget = decided.budget;
  if (decided.decision === "allow") return decided;
  const rest = { attempt: run.budget.attemptsUsed, outcome: "denied", reason: decided.decision, elapsedMs: 0 };
  await core.ledger.record(
    [
      {
        ...core.envelope("budget_denied"),
        ...budgetFields(run.budget, outbound, rest),
        call_id: sending.callId,
        budget_stop_reason: run.budget.stopReason ?? decided.decision,
      },
    ],
    [runRow(run)],
  );
  throw budgetDenied(decided.decision);
}

/** Step 10: the credential is lent for the send alone. What the vault refuses is an observation like any other. */
async function send(
  core: Core,
  sending: Sending,
  receipt: IntentReceipt,
  timeoutMs: number,
): Promise<TransportObservation> {
  const { request, outbound } = sending;
  const limits = { timeoutMs, responseBytes: outbound.definition.action.limits.responseBytes, signal: NEVER };
  if (sending.credential === null) return core.ports.http.send(receipt, request, null, limits);
  try {
    const loan = requireUnlocked(core).lendHttp(sending.credential, new URL(request.url).origin);
    try {
      return await core.ports.http.send(receipt, request, loan, limits);
    } finally {
      loan.release();
    }
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    const detail = `${error.code}: ${error.message}`;
    return { kind: "never_sent", reason: "credential_refused", detail, elapsedMs: 0, connected: false };
  }
}

/** A send that began is left to end: breaking it off would only turn an answer into an unknown. */
const NEVER = new AbortController().signal;

function settle(run: Run, reservation: Reservation, verdict: Verdict): Run["budget"] {
  switch (verdict.kind) {
    case "unknown":
      return run.budget;
    case "error":
      return settleReservation(run.budget, reservation, { kind: "released" });
    case "success":
    case "accepted":
    case "redirect":
      return settleReservation(run.budget, reservation, { kind: "assumed" });
  }
}

function links(sending: Sending, attemptId: string) {
  return { call_id: sending.callId, attempt_id: attemptId, session_id: sending.session.id };
}

function intentEvents(core: Core, sending: Sending, attemptId: string, reservation: Reservation): NewEvent[] {
  const { run, outbound, request, authorization } = sending;
  const url = new URL(request.url);
  const fields = requestFields(outbound, sending.callId, describeAuthorization(authorization), null);
  return [
    {
      ...core.envelope("intent_accepted"),
      event_id: attemptId,
      run_id: run.id,
      ...links(sending, attemptId),
      action_id: attemptId,
      operation_id: null,
      channel: outbound.channel,
      destination: url.origin,
      method: request.method,
      path: url.pathname,
      payload_sha256: request.body === null ? null : digestBytes(request.body),
      authorization: describeAuthorization(authorization),
      action: outbound.action,
      caller: nameCaller(sending.session.caller),
      media_type: request.headers["content-type"] ?? null,
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
    {
      ...core.envelope("budget_reserved"),
      ...links(sending, attemptId),
      ...budgetFields(run.budget, outbound, {
        attempt: reservation.attempt,
        outcome: "allow",
        reason: null,
        elapsedMs: 0,
      }),
    },
  ];
}

function completionEvents(
  core: Core,
  sending: Sending,
  attemptId: string,
  reservation: Reservation,
  verdict: Verdict,
  observation: TransportObservation,
): NewEvent[] {
  const { run, outbound, authorization } = sending;
  const status = observation.kind === "answered" ? observation.status : null;
  const reason = "reason" in verdict ? verdict.reason : null;
  const outcome = outcomeOf(verdict);
  const request = requestFields(outbound, sending.callId, describeAuthorization(authorization), status);
  const elapsed_ms = Math.round(observation.elapsedMs);
  const joined = { parent_event_id: attemptId, ...links(sending, attemptId) };
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
      response_digest: observation.kind === "answered" ? digestBytes(observation.body) : null,
      confirmed: false,
      reason,
      elapsed_ms,
      evidence: observation.kind === "answered" ? "remote_receipt" : "local_completion",
      request,
    },
    {
      ...core.envelope("budget_settled"),
      ...joined,
      ...budgetFields(run.budget, outbound, {
        attempt: reservation.attempt,
        outcome,
        reason,
        elapsedMs: observation.elapsedMs,
      }),
      settled_spend_cents: run.budget.settledSpendCents,
    },
  );
  return events;
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

/** The attempt as it must survive us: enough to say "unknown" about it, and digests alone once it is settled. */
function attemptRow(
  sending: Sending,
  attemptId: string,
  state: "sent" | "settled" | "unknown",
  reservation: Reservation,
): StateRow {
  const { outbound, run, session } = sending;
  return {
    table: "attempts",
    id: attemptId,
    runId: run.id,
    state,
    body: {
      call_id: sending.callId,
      session_id: session.id,
      action: outbound.action,
      channel: outbound.channel,
      side_effect: outbound.sideEffect,
      request_digest: outbound.requestDigest,
      maximum_cents: reservation.maximumCents,
      ...(state === "settled" ? {} : { target: sending.request.url, method: sending.request.method }),
    },
  };
}

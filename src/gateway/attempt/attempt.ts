import type { NewEvent } from "../../audit/event.ts";
import type { RunBudget } from "../../conventions/budget/budget.ts";
import { decideReservation, type Reservation } from "../../conventions/budget/decide.ts";
import { settleReservation } from "../../conventions/budget/settle.ts";
import { classifyObservation, type Verdict } from "../../conventions/outcome/classify.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId, OperationId, RunId } from "../../kernel/ids.ts";
import type { HttpLoan } from "../../vault/lent.ts";
import { type Authorization, describeAuthorization } from "../approval/authorize.ts";
import { type Core, now, requireUnlocked } from "../core.ts";
import { askOf, budgetDenied, requireStanding } from "../outbound/admit.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { sshRequestOf, tokenOf } from "../outbound/request.ts";
import type { IntentReceipt, OutboundHttp, StateRow } from "../ports.ts";
import { budgetFields, nameCaller, requestFields } from "../record/record.ts";
import { runRow } from "../record/rows.ts";
import type { Run, Session } from "../run/run.ts";
import { requireTicketStill, type TicketUse, ticketIntent } from "../ticket/ticket.ts";

/** What one send needs to know. Retries and redirects change `request` and `credential`; nothing else. */
interface Shot {
  readonly callId: CallId;
  readonly outbound: Outbound;
  readonly authorization: Authorization;
  readonly request: OutboundHttp;
  /** The label to lend, or null where the redirect rule stripped it. */
  readonly credential: string | null;
  /** Lends what the vault does not hold, such as a test token of one probe; the vault lends without it. */
  readonly lend?: (origin: string) => HttpLoan;
  /** The tracked operation that this attempt belongs to. */
  readonly operationId?: OperationId;
  /** Durable together with the intent, before anything is sent. */
  readonly beside?: () => Beside;
  /** Durable together with the completion. */
  readonly after?: (attempted: Attempted) => Beside;
}

/** What the room that asked for an attempt wants written with it. */
export interface Beside {
  readonly events: readonly NewEvent[];
  readonly rows: readonly StateRow[];
}

/** An attempt of a live session, paid by its run. */
export interface Sending extends Shot {
  readonly run: Run;
  readonly session: Session;
  /** As it stood on the card, for an action that needs one. */
  readonly ticket?: TicketUse | undefined;
  readonly custody?: undefined;
}

/** A read that the gateway makes for an operation, paid by the operation's own allowance. It outlives the session. */
export interface CustodySending extends Shot {
  readonly run: { readonly id: RunId; budget: RunBudget };
  readonly session: { readonly id: string; readonly caller: { readonly key: string } };
  /** Writes the operation, whose allowance changes with the attempt. */
  readonly custody: () => StateRow;
}

export interface Attempted {
  readonly attemptId: string;
  readonly reservation: Reservation;
  readonly observation: TransportObservation;
  readonly verdict: Verdict;
}

/**
 * Steps 7 to 12 for one send: reserve, make the intent durable, send, classify, settle. Every retry, redirect, poll, page
 * and cancel passes through here, so that nothing outside escapes budget or log.
 */
export async function attempt(core: Core, sending: Sending | CustodySending): Promise<Attempted> {
  const { run, outbound } = sending;
  if (sending.custody === undefined) requireStanding(core, sending.run, sending.session);
  else requireUnlocked(core);
  const ticket = sending.custody === undefined ? requireTicketStill(core, sending) : null;
  const { reservation, timeoutMs } = await reserve(core, sending);
  const attemptId = core.ports.ids.next("evt");
  const beside = sending.beside?.() ?? NOTHING;
  const receipt = await core.ledger.intent(
    [
      ...intentEvents(core, sending, attemptId, reservation),
      ...(ticket === null || sending.custody !== undefined ? [] : [ticketIntent(core, sending, ticket, attemptId)]),
      ...beside.events,
    ],
    [payerRow(sending), attemptRow(sending, attemptId, "sent", reservation), ...beside.rows],
    outbound.sideEffect,
  );
  const startedAt = core.envelope("transport_started");
  const observation = await send(core, sending, receipt, timeoutMs, attemptId);
  const verdict = classifyObservation(observation, outbound.sideEffect, outbound.channel);
  run.budget = settle(run, reservation, verdict);
  const state = verdict.kind === "unknown" ? "unknown" : "settled";
  const attempted = { attemptId, reservation, observation, verdict };
  const after = sending.after?.(attempted) ?? NOTHING;
  const started: NewEvent = {
    ...startedAt,
    run_id: run.id,
    ...links(sending, attemptId),
    transport: outbound.channel,
    request_id: attemptId,
    attempt: reservation.attempt,
  };
  const completion = completionEvents(core, sending, attemptId, reservation, verdict, observation);
  await core.ledger.record(
    isPreview(outbound) ? [...completion, ...after.events] : [started, ...completion, ...after.events],
    [payerRow(sending), attemptRow(sending, attemptId, state, reservation), ...after.rows],
  );
  return attempted;
}

const NOTHING: Beside = { events: [], rows: [] };

/** A preview keeps to its own path in the log: no intent and no completion of a change is written for it. */
function isPreview({ definition }: Outbound): boolean {
  return definition.action.effect === "preview";
}

function payerRow(sending: Sending | CustodySending): StateRow {
  return sending.custody === undefined ? runRow(sending.run) : sending.custody();
}

/** Step 7. The budget of the run is taken down before anything else can look at it: this is the one transaction. */
async function reserve(
  core: Core,
  sending: Sending | CustodySending,
): Promise<{ reservation: Reservation; timeoutMs: number }> {
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
    [payerRow(sending)],
  );
  throw budgetDenied(decided.decision, run.budget);
}

/** Step 10: the credential is lent for the send alone. What the vault refuses is an observation like any other. */
async function send(
  core: Core,
  sending: Shot,
  receipt: IntentReceipt,
  timeoutMs: number,
  attemptId: string,
): Promise<TransportObservation> {
  const { request, outbound } = sending;
  const limits = { timeoutMs, responseBytes: outbound.definition.action.limits.responseBytes, signal: NEVER };
  if (sending.credential === null) return core.ports.http.send(receipt, request, null, limits);
  try {
    if (outbound.bound.kind === "ssh") {
      const signer = requireUnlocked(core).lendSshSigner(sending.credential, outbound.bound.hostKey);
      try {
        return await core.ports.ssh.send(
          receipt,
          sshRequestOf(outbound.bound, outbound.definition, attemptId),
          signer,
          limits,
        );
      } finally {
        signer.release();
      }
    }
    const { origin } = new URL(request.url);
    const loan = sending.lend?.(origin) ?? requireUnlocked(core).lendHttp(sending.credential, origin);
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

function settle(run: { readonly budget: RunBudget }, reservation: Reservation, verdict: Verdict): RunBudget {
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

function links({ callId, session, operationId }: Sending | CustodySending, attemptId: string) {
  const base = { call_id: callId, attempt_id: attemptId, session_id: session.id };
  return operationId === undefined ? base : { ...base, operation_id: operationId };
}

function intentEvents(
  core: Core,
  sending: Sending | CustodySending,
  attemptId: string,
  reservation: Reservation,
): NewEvent[] {
  const { run, outbound, request, authorization } = sending;
  const url = new URL(request.url);
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
  };
  if (isPreview(outbound)) {
    return [
      {
        ...core.envelope("preview_requested"),
        event_id: attemptId,
        run_id: run.id,
        ...links(sending, attemptId),
        action: outbound.action,
        request_digest: outbound.requestDigest,
        request: fields,
      },
      reserved,
    ];
  }
  return [
    {
      ...core.envelope("intent_accepted"),
      event_id: attemptId,
      run_id: run.id,
      ...links(sending, attemptId),
      action_id: attemptId,
      operation_id: sending.operationId ?? null,
      channel: outbound.channel,
      destination: outbound.channel === "ssh" ? outbound.reach.destination : url.origin,
      method: request.method,
      path: url.pathname,
      payload_sha256: request.body === null ? null : digestBytes(request.body),
      authorization: describeAuthorization(authorization),
      action: outbound.action,
      caller: sending.custody === undefined ? nameCaller(sending.session.caller) : sending.session.caller.key,
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
    reserved,
  ];
}

function completionEvents(
  core: Core,
  sending: Sending | CustodySending,
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
      response_digest: observation.kind === "answered" ? digestBytes(observation.body) : null,
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
  sending: Sending | CustodySending,
  attemptId: string,
  state: "sent" | "settled" | "unknown" | "tracked",
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
      ...(isPreview(outbound) ? { preview: true } : {}),
      ...(sending.operationId === undefined ? {} : { operation_id: sending.operationId }),
      ...(isOver(state) ? {} : { target: sending.request.url, method: sending.request.method }),
      ...(isOver(state) || !outbound.sideEffect ? {} : evidenceOf(sending)),
    },
  };
}

function isOver(state: string): boolean {
  return state === "settled" || state === "tracked";
}

/** An attempt of unknown outcome that an operation now answers for: recovery need not look at it again. */
export function trackedRow(sending: Sending, { attemptId, reservation }: Attempted): StateRow {
  return attemptRow(sending, attemptId, "tracked", reservation);
}

/** What finding out later needs: the arguments, and the token under which the provider knows the request. */
function evidenceOf({ outbound, request, session, authorization }: Sending | CustodySending) {
  const { pack } = outbound.definition;
  const { kind, approvalId, authorizedBy, decidedAt } = authorization;
  return {
    input: outbound.input,
    pack_digest: pack.digest,
    token: tokenOf(request, pack),
    caller: session.caller.key,
    authorization: { kind, approvalId, authorizedBy, decidedAt },
  };
}

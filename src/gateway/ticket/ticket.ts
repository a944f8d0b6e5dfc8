import type { NewEvent } from "../../audit/event.ts";
import { splitReference, type WorkContext } from "../../conventions/ticket/context.ts";
import { requireCovered } from "../../conventions/ticket/cover.ts";
import { httpLocation, sshLocation } from "../../conventions/ticket/target.ts";
import { bindContext, type TicketEvidence, verifyContext } from "../../conventions/ticket/verify.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { type Authorization, describeAuthorization } from "../approval/authorize.ts";
import type { Core } from "../core.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { tokenOf } from "../outbound/request.ts";
import type { OutboundHttp } from "../ports.ts";
import { nameCaller, requestFields } from "../record/record.ts";
import type { Run, Session } from "../run/run.ts";

/** A ticket as one call uses it: what was on the card is what counts until the call is over. */
export interface TicketUse {
  readonly evidence: TicketEvidence;
  /** The call's own, and those of the plan it carries out. */
  readonly arguments: JsonObject;
}

/** What of a send the ticket is held against. */
interface Ticketed {
  readonly run: Run;
  readonly session: Session;
  readonly callId: CallId;
  readonly outbound: Outbound;
  readonly authorization: Authorization;
  readonly request: OutboundHttp;
  readonly ticket?: TicketUse | undefined;
}

/** Attaches a signed work context to its run. What is refused is recorded too, with the reason and none of its words. */
export async function attachTicket(core: Core, run: Run, token: string): Promise<TicketEvidence> {
  if (run.state === "ended") throw new Denied("run_ended", `The run ended (${run.endReason ?? "no reason kept"}).`);
  const { clock } = core.ports;
  const at = isoTime(clock.wallMs());
  let signed: WorkContext | null = null;
  try {
    const verified = await verifyContext(token, core.tickets.issuers());
    signed = verified.context;
    const moment = { wallMs: clock.wallMs(), bootMs: clock.bootMs(), at };
    const evidence = bindContext(verified, { id: run.id, deadlineAt: run.budget.deadlineAt }, moment);
    await core.ledger.record("ticket.attached", [
      observed(core, run, at, evidence.context, evidence.scopeDigest, null),
    ]);
    core.tickets.put(run, evidence);
    return evidence;
  } catch (error) {
    if (error instanceof Denied)
      await core.ledger.record("ticket.refused", [observed(core, run, at, signed, "", error.code)]);
    throw error;
  }
}

function observed(
  core: Core,
  run: Run,
  at: string,
  context: WorkContext | null,
  scopeDigest: string,
  code: Denied["code"] | null,
): NewEvent {
  const { system, reference } = context === null ? UNVERIFIED : splitReference(context.ticket_ref);
  return {
    ...core.envelope("ticket_observed"),
    run_id: run.id,
    ...batchOf(context),
    system,
    ticket_ref: reference,
    observed_state: context?.observed_state ?? "unverified",
    observed_at: at,
    scope_digest: scopeDigest,
    issued_for_run: context?.issued_for_run ?? "unverified",
    expires_at: context?.expires_at ?? "unverified",
    accepted: code === null,
    code,
  };
}

const UNVERIFIED = { system: "unverified", reference: "unverified" } as const;

/** Step 4: an action that needs a ticket has one that covers exactly this call, or nobody is even asked. */
export function requireTicket(
  core: Core,
  run: Run,
  outbound: Outbound,
  planned: JsonObject | undefined,
): TicketUse | undefined {
  if (!outbound.definition.action.needs.ticket) return undefined;
  const args = { ...planned, ...outbound.shownArguments };
  const evidence = covered(core, run, outbound, locationOf(outbound), args, core.tickets.of(run));
  return { evidence, arguments: args };
}

/**
 * Asked again before every send: time has passed, a redirect may lead elsewhere, an issuer may be gone. A context that
 * was replaced meanwhile is not the one on the card.
 */
export function requireTicketStill(core: Core, sending: Ticketed): TicketEvidence | null {
  const { outbound, run, request, ticket } = sending;
  if (!outbound.definition.action.needs.ticket) return null;
  const evidence = core.tickets.of(run);
  if (ticket !== undefined && ticket.evidence !== evidence) {
    throw new Denied("ticket_scope_mismatch", "The work context was replaced while this call waited. Call it again.");
  }
  const location = outbound.channel === "ssh" ? locationOf(outbound) : httpLocation(request.url);
  return covered(core, run, outbound, location, ticket?.arguments ?? outbound.shownArguments, evidence);
}

function covered(
  core: Core,
  run: Run,
  { action }: Outbound,
  location: string,
  args: JsonObject,
  evidence: TicketEvidence | null,
): TicketEvidence {
  const call = { runId: run.id, operation: action, location, arguments: args };
  const isIssuer = (keyId: string): boolean => core.tickets.issuers().some((one) => one.keyId === keyId);
  return requireCovered(evidence, call, { bootMs: core.ports.clock.bootMs(), isIssuer });
}

function locationOf({ bound }: Outbound): string {
  return bound.kind === "ssh" ? sshLocation(bound) : httpLocation(bound.url);
}

/** The intent with its ticket, durable in the same write as the attempt's own. */
export function ticketIntent(
  core: Core,
  sending: Ticketed,
  { context, scopeDigest, observedAt, issuer }: TicketEvidence,
  attemptId: string,
): NewEvent {
  const { run, session, outbound, authorization, request, callId } = sending;
  const ssh = outbound.channel === "ssh";
  return {
    ...core.envelope("action.intent"),
    agent_run_id: run.id,
    parent_event_id: attemptId,
    call_id: callId,
    attempt_id: attemptId,
    session_id: session.id,
    ...batchOf(context),
    actor: {
      agent_process: nameCaller(session.caller),
      human_requester: issuer.kind === "operator" ? issuer.name : null,
    },
    ticket: {
      ...splitReference(context.ticket_ref),
      observed_state: context.observed_state,
      observed_at: observedAt,
      scope_digest: scopeDigest,
    },
    action: {
      channel: outbound.channel,
      operation: outbound.action,
      target: ssh ? locationOf(outbound) : httpLocation(request.url),
      request_digest: outbound.requestDigest,
      idempotency_id: ssh ? null : tokenOf(request, outbound.definition.pack),
    },
    decision: {
      reference_required: true,
      authorized_by: authorization.authorizedBy,
      decision_at: authorization.decidedAt,
    },
    ...(context.emergency === undefined ? {} : { emergency: { ...context.emergency, approver: issuer.name } }),
    request: requestFields(outbound, callId, describeAuthorization(authorization), null),
  };
}

function batchOf(context: WorkContext | null) {
  return context?.batch ?? {};
}

import type { NewEvent } from "../../audit/event.ts";
import { locationOf, type Send } from "../../conventions/action/send.ts";
import { splitReference } from "../../conventions/ticket/context.ts";
import { type Now, requireCovered, requireInForce } from "../../conventions/ticket/cover.ts";
import { type TicketService, unconfirmed } from "../../conventions/ticket/lookup.ts";
import { needOf } from "../../conventions/ticket/need.ts";
import type { TicketEvidence } from "../../conventions/ticket/verify.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { type Authorization, describeAuthorization } from "../approval/authorize.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { tokenOf } from "../outbound/request.ts";
import { nameCaller, requestFields } from "../record/record.ts";
import type { Run, Session } from "../run/run.ts";
import { batchOf, openEntry, type TicketEntry } from "./attach.ts";
import type { TicketNeeds } from "./needs.ts";
import type { TicketUse } from "./tickets.ts";

/** What of a send the ticket is held against. */
interface Ticketed {
  readonly run: Run;
  readonly session: Session;
  readonly callId: CallId;
  readonly outbound: Outbound;
  readonly authorization: Authorization;
  readonly request: Send;
  readonly ticket?: TicketUse | undefined;
}

/** What step 4 found: nothing is needed, the run's ticket covers the call, or whoever approves has to assign one. */
export type CallTicket =
  | { readonly kind: "not_needed" }
  | { readonly kind: "held"; readonly use: TicketUse }
  | { readonly kind: "missing"; readonly entry: TicketEntry };

/**
 * Step 4: an action that needs a ticket has one that covers exactly this call. A run with none can be given one by whoever
 * approves the call; one whose ticket covers something else is denied, and nobody is asked.
 */
export function findTicket(
  core: TicketNeeds,
  run: Run,
  outbound: Outbound,
  planned: JsonObject | undefined,
): CallTicket {
  if (outbound.definition.action.needs.ticket && core.tickets.of(run) === null) {
    const args = { ...planned, ...outbound.shownArguments };
    const need = needOf(outbound.action, { location: locationOf(outbound.bound), arguments: args });
    if (need !== undefined) return { kind: "missing", entry: openEntry(core, run, need, args) };
  }
  const use = requireTicket(core, run, outbound, planned);
  return use === undefined ? { kind: "not_needed" } : { kind: "held", use };
}

/** The same where nobody is there to assign one: what the run holds covers the call, or it is denied. */
export function requireTicket(
  core: Pick<TicketNeeds, "ports" | "tickets">,
  run: Run,
  outbound: Outbound,
  planned: JsonObject | undefined,
): TicketUse | undefined {
  if (!outbound.definition.action.needs.ticket) return undefined;
  const args = { ...planned, ...outbound.shownArguments };
  return {
    of: "run",
    evidence: covered(core, run, outbound, locationOf(outbound.bound), args, core.tickets.of(run)),
    arguments: args,
  };
}

/** One approval covers the read of the ticket too: the card says which. */
export function lookupNotes(core: Pick<TicketNeeds, "tickets">, ticket: CallTicket): readonly string[] {
  if (ticket.kind === "not_needed") return [];
  const held = ticket.kind === "held" ? core.tickets.serviceOf(ticket.use.evidence) : null;
  const services = ticket.kind === "held" ? (held === null ? [] : [held]) : core.tickets.services();
  return services.map(
    ({ system, action }) => `a ticket of ${system} is first read with ${action}, and has to be open there`,
  );
}

/** The ticket that the call goes out under, once it is authorized. */
export function ticketUsed(ticket: CallTicket): TicketUse | undefined {
  switch (ticket.kind) {
    case "not_needed":
      return undefined;
    case "held":
      return ticket.use;
    case "missing":
      return ticket.entry.use();
  }
}

/**
 * Asked again before every send: time has passed, a redirect may lead elsewhere, an issuer may be gone. A context that
 * was replaced meanwhile is not the one on the card.
 */
export function requireTicketStill(
  core: Pick<TicketNeeds, "ports" | "tickets">,
  sending: Ticketed,
): TicketEvidence | null {
  const { outbound, run, request, ticket } = sending;
  if (!outbound.definition.action.needs.ticket) return null;
  const evidence = ticket?.of === "call" ? ticket.evidence : core.tickets.of(run);
  if (ticket !== undefined && ticket.evidence !== evidence) {
    throw new Denied("ticket_scope_mismatch", "The work context was replaced while this call waited. Call it again.");
  }
  // Of this very send, after redirects too.
  const location = locationOf(request);
  const found = covered(core, run, outbound, location, ticket?.arguments ?? outbound.shownArguments, evidence);
  requireFresh(core, found, ticket);
  return found;
}

/** A ticket that a service has to confirm counts for as long as its last word is fresh, and no send waits on an old one. */
function requireFresh(
  core: Pick<TicketNeeds, "ports" | "tickets">,
  evidence: TicketEvidence,
  ticket: TicketUse | undefined,
): void {
  const service = core.tickets.serviceOf(evidence);
  if (service === null || isFresh(core, service, ticket)) return;
  throw unconfirmed(
    service,
    splitReference(evidence.context.ticket_ref),
    "what it said is too old, or was never asked",
  );
}

export function isFresh(
  core: Pick<TicketNeeds, "ports">,
  service: TicketService,
  ticket: TicketUse | undefined,
): boolean {
  const lookup = ticket?.lookup;
  if (lookup === undefined || lookup.action !== service.action) return false;
  return core.ports.clock.bootMs() - lookup.bootMs < defaults.ticketObservedMs;
}

function covered(
  core: Pick<TicketNeeds, "ports" | "tickets">,
  run: Run,
  { action }: Outbound,
  location: string,
  args: JsonObject,
  evidence: TicketEvidence | null,
): TicketEvidence {
  const call = { runId: run.id, operation: action, location, arguments: args };
  return requireCovered(evidence, call, nowOf(core));
}

/** Why a context that is attached counts no longer, for whoever looks at it before a call is denied. */
export function lapsedBecause(core: Pick<TicketNeeds, "ports" | "tickets">, evidence: TicketEvidence): Denied | null {
  try {
    requireInForce(evidence, nowOf(core));
    return null;
  } catch (error) {
    if (error instanceof Denied) return error;
    throw error;
  }
}

function nowOf({ ports, tickets }: Pick<TicketNeeds, "ports" | "tickets">): Now {
  return {
    bootMs: ports.clock.bootMs(),
    isIssuer: (keyId) => tickets.issuers().some((one) => one.keyId === keyId),
  };
}

/** The intent with its ticket, durable in the same write as the attempt's own. */
export function ticketIntent(
  core: Pick<TicketNeeds, "envelope">,
  sending: Ticketed,
  { context, scopeDigest, observedAt, issuer }: TicketEvidence,
  attemptId: string,
): NewEvent {
  const { run, session, outbound, authorization, request, callId } = sending;
  const lookup = sending.ticket?.lookup;
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
      observed_state: lookup?.state ?? context.observed_state,
      observed_at: lookup?.at ?? observedAt,
      scope_digest: scopeDigest,
    },
    ...(lookup === undefined ? {} : { ticket_lookup: { action: lookup.action, attempt_id: lookup.attemptId } }),
    action: {
      channel: outbound.channel,
      operation: outbound.action,
      target: locationOf(request),
      request_digest: outbound.requestDigest,
      idempotency_id: tokenOf(request, outbound.definition.pack),
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

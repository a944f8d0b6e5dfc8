import type { Card, CardAsks, CardCall, CardPlan, CardRun, CardSession } from "../../conventions/approval/card.ts";
import { limitsRecord } from "../../conventions/budget/record.ts";
import { authorityLine } from "../../conventions/caller/authority.ts";
import { encodeCaller, encodeCallerContext } from "../../conventions/caller/evidence.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import { type Allowed, type Demand, isDemanding } from "../../conventions/passkey/demand.ts";
import { type Scope, scopeRecord } from "../../conventions/scope/scope.ts";
import type { TicketNeed } from "../../conventions/ticket/need.ts";
import type { TicketEvidence } from "../../conventions/ticket/verify.ts";
import { digestJson } from "../../kernel/canonical-json.ts";
import type { ApprovalId, CallId } from "../../kernel/ids.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { LiveCaller } from "../ports.ts";
import type { Run } from "../run/run.ts";
import { cardTicket } from "./card-ticket.ts";
import { demandNow } from "./demand.ts";
import type { ApprovalNeeds } from "./needs.ts";
import type { Accept, Question } from "./question.ts";

export interface CallAsked {
  readonly callId: CallId;
  readonly outbound: Outbound;
  /** The URL as it will be sent; a redirect card names the new one. */
  readonly target: string;
  readonly because: readonly string[];
  /** The work context that the call rests on. */
  readonly ticket?: TicketEvidence;
  /** Or the one that whoever approves has to assign. */
  readonly ticketEntry?: { readonly need: TicketNeed; readonly accept: Accept };
  /** The plan that the call carries out. */
  readonly plan?: CardPlan;
  /** What else a person should know of this very call. */
  readonly notes?: readonly string[];
  /** Where the request names the approval it rests on. */
  readonly approvalId?: ApprovalId;
  /** What the question is about, where the request differs each time it is asked. */
  readonly sameAs?: string;
}

/** A question for a person, with the card that will be shown and signed. */
export function writeQuestion(
  core: ApprovalNeeds,
  asked: {
    readonly mode: Question["mode"];
    readonly run: Run;
    readonly caller: LiveCaller;
    readonly scope: Scope | null;
    readonly call: CallAsked | null;
    /** The agent's own words for this very question; those of the run where there are none. */
    readonly says?: string;
    readonly notes?: readonly string[];
  },
): Question {
  const { mode, run, caller, scope, call, says = run.purpose, notes = [] } = asked;
  const shownCall = call === null ? null : cardCall(call);
  const budget = limitsRecord(run.budget.limits);
  const { ticket, ticketEntry } = call ?? {};
  const standing = sessionOf(run, caller);
  const allowed = [...(scope?.actions ?? []), ...(call === null ? [] : [allowedBy(call.outbound)])];
  const demand = (): Demand => demandNow(core, allowed);
  const about = {
    request: call === null ? null : { digest: call.sameAs ?? call.outbound.requestDigest, target: call.target },
    ...(ticket === undefined ? {} : { ticket: ticket.scopeDigest }),
  };
  const accept = ticketEntry?.accept ?? (mode === "session" && call === null ? core.acceptTicket(run) : undefined);
  return {
    mode,
    callerKey: caller.key,
    uid: caller.uid,
    runId: run.id,
    callId: call?.callId ?? null,
    action: call?.outbound.action ?? null,
    deadlineBootMs: run.budget.deadlineBootMs,
    ...(call?.approvalId === undefined ? {} : { approvalId: call.approvalId }),
    budget: scope === null ? null : budget,
    askDigest: digestJson({ mode, scope: scope === null ? null : scopeRecord(scope), ...about, notes }),
    ...(call === null ? {} : { callDigest: digestJson(about) }),
    ...(accept === undefined ? {} : { accept }),
    demand,
    writeCard: (approval_id, created_at, expires_at): Card => ({
      format: "gw.card/v1",
      approval_id,
      asks: asksOf(mode, scope, call),
      created_at,
      expires_at,
      authority: authorityLine(caller.evidence),
      mode: modeFor(core, caller),
      caller: encodeCaller(caller.evidence),
      context: encodeCallerContext(caller.evidence),
      run: {
        run_id: run.id,
        purpose_claimed: says,
        ...(run.command === null || caller.key !== run.ownerKey ? {} : { command_claimed: run.command }),
        budget,
        ...(standing === undefined ? {} : { used: usedOf(run) }),
        deadline_at: run.budget.deadlineAt,
      },
      ...(standing === undefined ? {} : { session: standing }),
      scope: scope === null ? null : scopeRecord(scope),
      call: shownCall,
      ...(call?.plan === undefined ? {} : { plan: call.plan }),
      ...(ticket === undefined ? {} : { ticket: cardTicket(ticket) }),
      ...(ticketEntry === undefined ? {} : { ticket_needed: ticketEntry.need }),
      ...cardDemand(core, demand()),
      notes: [
        ...(call?.notes ?? []),
        ...listNotes(call),
        ...(caller.key === run.ownerKey ? run.notes : []),
        ...notes,
        ...notesOf(mode, caller),
      ],
      if_unanswered: "the question expires, nothing is sent, and the agent is told so",
    }),
  };
}

/** What a yes to it needs, where policy demands more than an operator's key: the card says so, and where. */
export function cardDemand({ posture }: Pick<ApprovalNeeds, "posture">, demand: Demand): Pick<Card, "decide"> {
  if (!isDemanding(demand)) return {};
  return { decide: { ...demand, where: demand.passkey ? (posture().decisions?.where ?? []) : [] } };
}

export function allowedBy({ action, definition, credential }: Outbound): Allowed {
  return { action, effect: definition.action.effect, credential };
}

/** The session that this very caller has, where the question is about more within it. */
function sessionOf(run: Run, caller: LiveCaller): CardSession | undefined {
  const session = run.sessions.get(caller.key);
  if (session === undefined || !mayContinue(session)) return undefined;
  return { session_id: session.id, approved_by: session.approvedBy, approved_at: session.approvedAt };
}

function usedOf({ budget }: Run): NonNullable<CardRun["used"]> {
  return {
    attempts: budget.attemptsUsed,
    side_effects: budget.sideEffectAttempts,
    spend_cents: budget.settledSpendCents + budget.reservedSpendCents,
  };
}

function modeFor(core: Pick<ApprovalNeeds, "posture">, caller: LiveCaller): Card["mode"] {
  const { mode, mayDecide } = core.posture();
  return mayDecide?.(caller) === true ? "guard-rail" : mode;
}

function asksOf(mode: Question["mode"], scope: Scope | null, call: CallAsked | null): CardAsks {
  if (mode === "redirect" || mode === "access") return mode;
  if (scope === null) return "call";
  return call === null ? "session" : "session_and_call";
}

/** A list is one call and several sends: whoever agrees to it agrees to all of them. */
function listNotes(call: CallAsked | null): readonly string[] {
  const pages = call?.outbound.definition.action.pages ?? null;
  if (pages === null) return [];
  return [`it is a list: up to ${pages.maxPages} pages or ${pages.maxRecords} records are read, each page an attempt`];
}

function notesOf(mode: Question["mode"], caller: LiveCaller): readonly string[] {
  const notes: string[] = [];
  if (mode === "join") notes.push("this process asks to join a run that another process opened");
  if (caller.evidence.namespaces !== "own") {
    notes.push("the caller lives in another namespace (a container), so all of it counts as one caller");
  }
  if (caller.binding === "connection") {
    notes.push("nothing durable binds this caller, so the approval ends with its connection");
  }
  return notes;
}

export function cardCall({ callId, outbound, target, because }: CallAsked): CardCall {
  const { action } = outbound.definition;
  return {
    call_id: callId,
    action: outbound.action,
    effect: action.effect,
    channel: outbound.channel,
    method: outbound.method,
    target,
    credential: outbound.credential,
    arguments: outbound.shownArguments,
    ...(Object.keys(outbound.bound.sentAs).length === 0 ? {} : { sent_as: outbound.bound.sentAs }),
    request_digest: outbound.requestDigest,
    maximum_cents: action.maxCostCents ?? (action.asksEachCall ? null : 0),
    because,
  };
}

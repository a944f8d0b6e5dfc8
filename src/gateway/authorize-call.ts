import type { DecisionStatement, Verified } from "../conventions/approval/decision.ts";
import { type ReasonToAsk, reasonOf } from "../conventions/approval/reason.ts";
import { decideWithin } from "../conventions/budget/decide.ts";
import type { CallFacts } from "../conventions/grant/cover.ts";
import type { Grant } from "../conventions/grant/grant.ts";
import { narrowScope, type Scope } from "../conventions/scope/scope.ts";
import { Denied } from "../kernel/failure.ts";
import type { ApprovalId, CallId } from "../kernel/ids.ts";
import type { JsonObject } from "../kernel/json.ts";
import { type Authorization, authorizedByCard, authorizedByGrant, authorizedBySession } from "./approval/authorize.ts";
import { allowedBy, type CallAsked, writeQuestion } from "./approval/cards.ts";
import { needsPerson } from "./approval/demand.ts";
import type { RepeatAsked } from "./attempt/repeat-of.ts";
import { type Core, now } from "./core.ts";
import { askToday, requireScope, requireStanding } from "./outbound/admit.ts";
import { coveringGrant, requireGrant } from "./outbound/grants.ts";
import { reasonsToAsk, targetOf } from "./outbound/outbound.ts";
import type { LiveCaller } from "./ports.ts";
import type { Prepared } from "./prepare.ts";
import { joinAsDescendant } from "./run/descendants.ts";
import type { RunNeeds } from "./run/needs.ts";
import type { Call, Run, Session } from "./run/run.ts";
import { mergeIntoAdmission, requestSession } from "./run/sessions.ts";
import { lackedBy, widen } from "./run/widen.ts";
import { callCancelled } from "./take-back.ts";
import { type CallTicket, findTicket, lookupNotes } from "./ticket/ticket.ts";

/** What letting a call pass takes: runs and their cards, and what the card says of tickets and tokens. */
interface AuthorizeNeeds extends RunNeeds, Pick<Core, "tickets" | "tokens" | "waiting"> {}

type Decision = Verified<DecisionStatement>;

interface Authorized {
  readonly session: Session;
  readonly authorization: Authorization;
  readonly ticket: CallTicket;
  readonly despite?: ReadonlySet<string>;
}

/** Step 6: the session's approval, and this call's own where it needs one; one card serves both where it can. */
export async function authorizeCall(
  core: AuthorizeNeeds,
  caller: LiveCaller,
  run: Run,
  prepared: Prepared,
  /** Asked anew after every wait: an operator may have marked or disabled it meanwhile. */
  eachUse: () => boolean,
  found: CallTicket,
  call: Call,
  repeat: () => RepeatAsked | null,
): Promise<Authorized> {
  // Whoever is approved already learns at once what is open; anybody else first has to be let in.
  const standing = run.sessions.has(caller.key);
  const asks = standing ? repeat() : null;
  // Whether a run may begin is not to hang on a ticket for one of its calls: that one has a card of its own.
  if (found.kind !== "missing" && (standing ? asks === null : !isOpen(repeat))) {
    const reasons = reasonsOf(prepared, eachUse(), true, found);
    // Most calls are asked about by nobody: the words are not put together for them.
    const asked = () => questionOf(core, prepared, reasons, found, call);
    const merged = mayOpen(run, caller)
      ? openByCall(core, run, caller, asked())
      : reasons.length === 0
        ? null
        : mergeIntoAdmission(core, run, caller, asked());
    if (merged !== null) {
      call.approvalId = run.admission?.approvalId ?? null;
      const authorization = authorizedByCard(await merged);
      return { session: await joinSession(core, caller, run), authorization, ticket: found };
    }
  }
  const session = run.sessions.get(caller.key) ?? (await joinSession(core, caller, run));
  const lacks = () => (run.asksAsItGoes ? lackedBy(session, prepared.outbound, prepared.way) : []);
  if (run.asksAsItGoes) await behindOthers(run, lacks);
  const lacked = lacks();
  const again = standing ? asks : repeat();
  // It may have come with the approval of the session.
  const ticket = found.kind === "missing" ? findTicket(core, run, prepared.outbound, plannedOf(prepared)) : found;
  const held = again === null ? prepared : withRepeat(prepared, again);
  const reasons = reasonsOf(held, eachUse(), session.approvalId !== null, ticket);
  // A second one although the first is open is a person's decision, whatever was granted before.
  const grant = again === null ? requireGrant(core, session) : null;
  if (grant === null && reasons.length === 0 && lacked.length === 0)
    return { session, authorization: authorizedBySession(session), ticket };
  const covered = grant === null ? null : await coverByGrant(core, grant, run, session, prepared, reasons);
  if (covered !== null && "grant" in covered) {
    if (lacked.length > 0)
      await widen(core, run, session, lacked, { approvalId: null, by: `grant ${covered.grant.name}` });
    return { session, authorization: authorizedByGrant(covered.grant), ticket };
  }
  // Another call may have been asked about while the grants were read.
  if (lacked.some(({ action }) => run.widening.has(action)))
    return authorizeCall(core, caller, run, prepared, eachUse, found, call, repeat);
  // Nor is anybody asked for a call that was taken back during one of these waits.
  if (!call.wanted) throw callCancelled();
  // Whoever asks and takes back without end would have what waits for the log grow without end.
  core.ledger.requireRoom();
  const asked = questionOf(core, held, covered === null ? reasons : [covered.beyond, ...reasons], ticket, call);
  const [mode, scope] =
    lacked.length === 0 ? (["each_use", null] as const) : (["access", { ...session.scope, actions: lacked }] as const);
  const ask = core.desk.ask(writeQuestion(core, { mode, run, caller, scope, call: asked }));
  call.approvalId = ask.approvalId;
  const decision = await (scope === null ? ask.answer : widenedBy(core, run, session, scope, call, ask));
  // What the session has is held to it elsewhere; this is for the call that was asked about by itself.
  if (scope === null) requireScope(narrowScope(session.scope, decision.statement.narrow), prepared.outbound);
  const authorization = authorizedByCard(decision);
  return { session, authorization, ticket, ...(again === null ? {} : { despite: again.despite }) };
}

/**
 * Whatever a person says of an action to the first call that needs it holds for those that came meanwhile. Where that
 * call was taken back nothing was said, and the next one is asked about.
 */
async function behindOthers(run: Run, lacks: () => readonly { readonly action: string }[]): Promise<void> {
  for (;;) {
    const ahead = lacks().flatMap(({ action }) => run.widening.get(action) ?? [])[0];
    if (ahead === undefined) return;
    await ahead.answer.catch((error: unknown) => {
      if (ahead.call.wanted) throw error;
    });
  }
}

/** A yes to a call that its session has no action for adds the action, or what of it the person left. */
function widenedBy(
  core: AuthorizeNeeds,
  run: Run,
  session: Session,
  scope: Scope,
  call: Call,
  { approvalId, answer }: { readonly approvalId: ApprovalId; readonly answer: Promise<Decision> },
): Promise<Decision> {
  const widening = answer.then(async (decision) => {
    requireStanding(core, run, session);
    const { narrow, operator } = decision.statement;
    const more = narrowScope(scope, narrow).actions;
    if (more.length > 0) await widen(core, run, session, more, { approvalId, by: operator });
    return decision;
  });
  for (const { action } of scope.actions) {
    run.widening.set(action, { call, answer: widening });
    const done = () => void run.widening.delete(action);
    widening.then(done, done);
  }
  return widening;
}

/** Which grant lets it pass, or why a person is asked although one stands; policy may have come to demand one since. */
function coverByGrant(
  core: AuthorizeNeeds,
  grant: Grant,
  run: Run,
  session: Session,
  prepared: Prepared,
  reasons: readonly ReasonToAsk[],
): ReturnType<typeof coveringGrant> {
  if (needsPerson(core, [allowedBy(prepared.outbound)])) {
    const words = "policy demands a person's own yes to it, which no grant can give";
    return Promise.resolve({ beyond: { kind: "other", words } });
  }
  const ask = askToday(core, prepared.outbound, 0);
  const hasRoom = ({ limits }: Grant) => decideWithin(run.budget, limits, ask, now(core)).decision === "allow";
  return coveringGrant(core, grant, session, coveredFacts(prepared, reasons), hasRoom);
}

/** Whether this call is the one that its run waits for before anybody is asked. */
function mayOpen({ opensWithCall, state, admission, ownerKey }: Run, caller: LiveCaller): boolean {
  return opensWithCall && state === "pending" && admission === null && ownerKey === caller.key;
}

/** Asks about the session and its first call on one card; null where signed policy lets the session begin without one. */
function openByCall(core: AuthorizeNeeds, run: Run, caller: LiveCaller, asked: CallAsked): Promise<Decision> | null {
  run.admission = requestSession(core, run, caller, "session", asked);
  return run.admission.decision ?? null;
}

/** Whether something stands in the way of it, or somebody says so. */
function isOpen(repeat: () => RepeatAsked | null): boolean {
  try {
    return repeat() !== null;
  } catch (error) {
    if (error instanceof Denied) return true;
    throw error;
  }
}

/** The card says what is open before anything else. */
function withRepeat(prepared: Prepared, { because, notes, sameAs }: RepeatAsked): Prepared {
  const { card } = prepared;
  const asked = {
    ...card,
    notes: [...notes, ...(card.notes ?? [])],
    sameAs: `${card.sameAs ?? prepared.outbound.requestDigest} ${sameAs}`,
  };
  return { ...prepared, because: [...because, ...prepared.because], card: asked };
}

/** Why a person is asked about this very call, whatever was approved before. */
function reasonsOf(
  { outbound, because }: Prepared,
  eachUse: boolean,
  standing: boolean,
  ticket: CallTicket,
): readonly ReasonToAsk[] {
  const missing = ticket.kind === "missing" ? ["it needs a ticket, and none is attached to this run"] : [];
  return [
    ...reasonsToAsk(outbound.definition.action, eachUse, standing),
    ...[...because, ...missing].map((words) => ({ kind: "other", words }) as const),
  ];
}

/** What a grant is held against. Carrying out a plan is a thing of its own: a grant covers it where it says so. */
function coveredFacts({ outbound, way }: Prepared, reasons: readonly ReasonToAsk[]): CallFacts {
  const { action, definition, input, credential } = outbound;
  const plan = way.kind === "execute" ? [reasonOf("plan")] : [];
  return { action, effect: definition.action.effect, input, credential, because: [...reasons, ...plan] };
}

function questionOf(
  core: Pick<AuthorizeNeeds, "tickets" | "tokens">,
  { outbound, card }: Prepared,
  reasons: readonly ReasonToAsk[],
  ticket: CallTicket,
  call: Call,
): CallAsked {
  const missing = ticket.kind === "missing";
  return {
    callId: call.id as CallId,
    outbound,
    target: targetOf(outbound),
    ...card,
    because: reasons.map(({ words }) => words),
    notes: [...(card.notes ?? []), ...lookupNotes(core, ticket), ...tokenNotes(core, outbound)],
    ...(ticket.kind === "held" ? { ticket: ticket.use.evidence } : {}),
    ...(missing ? { ticketEntry: ticket.entry } : {}),
  };
}

function tokenNotes({ tokens }: Pick<AuthorizeNeeds, "tokens">, outbound: Prepared["outbound"]): readonly string[] {
  const said = tokens.say(outbound);
  return said === null ? [] : [said];
}

/** What the plan that the call carries out was asked for. */
export function plannedOf({ card }: Prepared): JsonObject | undefined {
  return card.plan?.arguments;
}

/** The caller's session of this run: it stands, is being asked for, or is asked for now. */
async function joinSession(core: AuthorizeNeeds, caller: LiveCaller, run: Run): Promise<Session> {
  const standing = run.sessions.get(caller.key);
  if (standing !== undefined) return standing;
  if (run.state === "ended") throw runEnded(run);
  return core.waiting.during(caller.uid, () => askedFor(core, caller, run));
}

function askedFor(core: AuthorizeNeeds, caller: LiveCaller, run: Run): Promise<Session> {
  if (run.admission?.callerKey === caller.key) return run.admission.session;
  if (run.kin !== null && caller.key !== run.ownerKey) return joinAsDescendant(core, run, run.kin, caller);
  run.admission = requestSession(core, run, caller, mayOpen(run, caller) ? "session" : "join", null);
  return run.admission.session;
}

/** A call that comes just after the answer to its session hears that answer too. */
function runEnded({ refusal, endReason }: Run): Denied {
  if (refusal !== null) return new Denied(refusal.code, refusal.message);
  return new Denied("run_ended", `The run ended (${endReason ?? "no reason kept"}).`);
}

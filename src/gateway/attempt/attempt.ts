import { documentOf } from "../../conventions/action/pack.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import { readPrice } from "../../conventions/budget/price.ts";
import { costRecord } from "../../conventions/budget/record.ts";
import { holdReserve, type Settlement, settleReservation } from "../../conventions/budget/settle.ts";
import { holdToReport } from "../../conventions/git/report.ts";
import { classifyObservation, type Verdict } from "../../conventions/outcome/classify.ts";
import { holdToGraphql } from "../../conventions/outcome/graphql-answer.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { holdToMember } from "../../conventions/outcome/success-member.ts";
import { STARTED } from "../../conventions/ssh/request-status.ts";
import type { TicketEvidence } from "../../conventions/ticket/verify.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import { requireUnlocked } from "../core.ts";
import { requireStanding } from "../outbound/admit.ts";
import { requireOtherGrant } from "../outbound/grants.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Counted, IntentReceipt, StateRow } from "../ports.ts";
import { runRow } from "../record/rows.ts";
import { requireTicketStill, ticketIntent } from "../ticket/ticket.ts";
import { settleClaim, takeClaim, withdrawClaim } from "./claim.ts";
import { completionRecord, intentEvents, tellGranted } from "./events.ts";
import { withholdMinted } from "./mint.ts";
import type { AttemptNeeds } from "./needs.ts";
import { readJson } from "./read-json.ts";
import { countForFleet, giveBack, makeReady, reserve, spend } from "./reserve.ts";
import { attemptRow } from "./row.ts";
import { send } from "./send.ts";
import { type Attempted, type Beside, type Claim, type CustodySending, isPreview, type Sending } from "./sending.ts";

/**
 * Steps 7 to 12 for one send: reserve, make the intent durable, send, classify, settle. Every retry, redirect, poll, page
 * and cancel passes through here, so that nothing outside escapes budget or log.
 */
export function attempt(core: AttemptNeeds, sending: Sending | CustodySending): Promise<Attempted> {
  return sending.holder === undefined ? attemptAlone(core, sending) : makeAttempt(core, sending);
}

/** Of no call: nobody has its answer afterwards. */
async function attemptAlone(core: AttemptNeeds, sending: Sending | CustodySending): Promise<Attempted> {
  const holder = { callerKey: sending.session.caller.key };
  try {
    return await makeAttempt(core, { ...sending, holder });
  } finally {
    core.answers.leave(holder);
  }
}

async function makeAttempt(core: AttemptNeeds, sending: Sending | CustodySending): Promise<Attempted> {
  const { run, outbound } = sending;
  if (sending.custody === undefined) await sending.session.begun;
  requireStill(core, sending);
  requireTicket(core, sending);
  const claim = claimFor(sending);
  // The allowance of an operation is for its reads: what is got for them is not paid from it.
  if (sending.custody !== undefined) await core.tokens.ready(sending);
  const needy = sending.custody === undefined && core.tokens.wants(sending) ? sending : null;
  const reserving = reserve(core, sending, () => payerRows(core, sending));
  const { reservation, timeoutMs: grantedMs, cents } = reserving instanceof Promise ? await reserving : reserving;
  /** Once more after every wait: for a token, and for the hub. */
  const still = (): void => {
    requireStill(core, sending);
    requireTicket(core, sending);
  };
  const timeoutMs = needy === null ? grantedMs : await makeReady(core, needy, reservation, grantedMs, still);
  const counting = countForFleet(core, sending, reservation, cents, still);
  const counted = counting === null ? null : await counting;
  const attemptId = core.ports.ids.next("evt");
  const receipt = await intend(core, sending, attemptId, reservation, claim, counted);
  // A repeat for an operation is made since nobody knows what came of the first send.
  const doubted = claim?.doubt ?? sending.claim === "held_by_operation";
  // From the first byte on it may have happened, whatever goes wrong in here.
  if (claim !== null) claim.doubt = true;
  const startedAt = isoTime(core.ports.clock.wallMs());
  const started = (): void => {
    if (outbound.sideEffect) keepStart(core, attemptRow(sending, attemptId, "sent", reservation, STARTED));
  };
  const meanwhile = { requireStill: still, started };
  const answer = await sendAndTake(core, sending, receipt, timeoutMs, attemptId, meanwhile);
  const { verdict, observation, events, rows } = readAnswer(core, sending, attemptId, answer);
  const claimed = claim === null ? [] : settleClaim(core, claim, sending, verdict, doubted);
  const settlement = settlementOf(outbound, verdict, doubted);
  const held = verdict.kind === "unknown" || (verdict.kind === "error" && doubted) ? reservation.maximumCents : 0;
  const more = settlement === null ? 0 : settle(core, run, reservation, settlement, held);
  // Money is counted once for all sends of a call, by the first of them.
  const paid = sending.carries?.counted ?? counted;
  paid?.settle(more);
  const cost = costRecord(reservation, settlement);
  const state = verdict.kind === "unknown" ? "unknown" : "settled";
  const attempted = { attemptId, reservation, held, observation, verdict, cost, counted: paid };
  const { after, fault } = comeAfter(sending, attempted);
  const told = [completionRecord(core, sending, attempted, startedAt, after.asked), ...events, ...after.events];
  const said = observation.kind === "silent" ? observation.said : undefined;
  const kept = [...ownRows(core, sending, attemptId, state, reservation, said), ...claimed, ...rows, ...after.rows];
  try {
    await core.ledger.record(`${sending.errand}.settled`, told, kept);
  } catch (error) {
    // What nobody could write down was sent all the same: it is not refused, it is unknown.
    if (claim !== null) claim.doubt = true;
    throw error;
  }
  if (fault === null) return attempted;
  if (claim !== null) claim.doubt = true;
  throw fault.cause;
}

function requireTicket(core: AttemptNeeds, sending: Sending | CustodySending): TicketEvidence | null {
  return sending.custody === undefined ? requireTicketStill(core, sending) : null;
}

function requireStill(core: AttemptNeeds, sending: Sending | CustodySending): void {
  if (sending.custody === undefined) {
    requireStanding(core, sending.run, sending.session);
    requireOtherGrant(core, sending.session, sending.authorization);
  } else if (sending.behindLock !== true) requireUnlocked(core);
}

/** What whoever asked makes of the answer. That they fail at it takes nothing away from what the answer proves. */
function comeAfter(
  sending: Sending | CustodySending,
  attempted: Attempted,
): { readonly after: Beside; readonly fault: { readonly cause: unknown } | null } {
  try {
    return { after: sending.after?.(attempted) ?? NOTHING, fault: null };
  } catch (cause) {
    return { after: NOTHING, fault: { cause } };
  }
}

/** No side effect leaves without one. A probe is a person's own experiment, and repeats on purpose. */
function claimFor({ outbound, errand, claim }: Sending | CustodySending): Claim | null {
  if (!outbound.sideEffect || errand === "probe" || claim === "held_by_operation") return null;
  if (claim === undefined) throw new Fault(`${errand} would have an effect and holds no claim to it`);
  return claim;
}

/** A fault of ours on the way proves nothing about the other side. */
async function sendAndTake(...[core, sending, ...rest]: Parameters<typeof send>): Promise<TransportObservation> {
  try {
    const seen = await send(core, sending, ...rest);
    return sending.take === undefined ? seen : await sending.take(seen);
  } catch (cause) {
    return { kind: "silent", reason: "internal_fault", detail: nameFault(cause), elapsedMs: 0 };
  }
}

/** What the answer says. One that we cannot even read may still be the receipt of what was asked: it is withheld, unknown. */
function readAnswer(
  core: Pick<AttemptNeeds, "envelope" | "ports">,
  sending: Sending | CustodySending,
  attemptId: string,
  answer: TransportObservation,
): Beside & { readonly observation: TransportObservation; readonly verdict: Verdict } {
  try {
    const read = withholdMinted(core, sending, attemptId, answer);
    return { ...read, verdict: judge(sending.outbound, read.observation) };
  } catch (cause) {
    const observation =
      answer.kind === "answered" ? ({ ...answer, body: EMPTY, withheld: "unreadable" } as const) : answer;
    const kind = sending.outbound.sideEffect ? "unknown" : "error";
    return { ...NOTHING, observation, verdict: { kind, reason: `internal_fault: ${nameFault(cause)}`, observation } };
  }
}

function nameFault(cause: unknown): string {
  return cause instanceof Error ? cause.name : "unforeseen";
}

const EMPTY = Buffer.alloc(0);

/** Step 9. What could not be written down is not sent, so that nothing of it can be charged. */
async function intend(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  attemptId: string,
  reservation: Reservation,
  claim: Claim | null,
  counted: Counted | null,
): Promise<IntentReceipt> {
  const { outbound } = sending;
  const held = claim?.holder ?? null;
  try {
    if (sending.custody === undefined || sending.behindLock !== true) requireUnlocked(core);
    if (sending.custody?.() === null) {
      throw new Denied("operation_taken_over", "Another gateway on this store looks after this operation now.");
    }
    const ticket = requireTicket(core, sending);
    const claimed = claim === null ? [] : [takeClaim(core, claim, sending, attemptId, reservation)];
    // Before the payer's row: that of an operation has the step that begins here.
    const beside = sending.beside?.(attemptId, reservation) ?? NOTHING;
    const own = ownRows(core, sending, attemptId, "sent", reservation);
    const receipt = await core.ledger.intent(
      `${sending.errand}.intent`,
      [
        ...intentEvents(core, sending, attemptId, reservation),
        ...(ticket === null || sending.custody !== undefined ? [] : [ticketIntent(core, sending, ticket, attemptId)]),
        ...beside.events,
      ],
      [...own, ...claimed, ...beside.rows],
      outbound.sideEffect,
    );
    tellGranted(sending);
    return receipt;
  } catch (error) {
    counted?.giveBack();
    giveBack(core, sending, reservation);
    if (claim !== null) await withdrawClaim(core, claim, held, sending, error);
    throw error;
  }
}

const NOTHING: Beside = { events: [], rows: [] };

/** What must survive us of an attempt: itself and what pays for it. */
function ownRows(
  core: Pick<AttemptNeeds, "daySpend">,
  sending: Sending | CustodySending,
  attemptId: string,
  state: "sent" | "settled" | "unknown",
  reservation: Reservation,
  said?: string,
): readonly StateRow[] {
  if (isPassing(sending)) return [];
  return [...payerRows(core, sending), attemptRow(sending, attemptId, state, reservation, said)];
}

/** So that a start which finds it without an end knows that. Nobody waits for it: the end is kept behind it, and a store that fails stops all. */
function keepStart(core: Pick<AttemptNeeds, "ledger">, row: StateRow): void {
  core.ledger.record("host.started", [], [row]).catch(() => undefined);
}

/** None where what would pay is no longer ours to write. */
function payerRows(core: Pick<AttemptNeeds, "daySpend">, sending: Sending | CustodySending): readonly StateRow[] {
  const row = sending.custody === undefined ? runRow(sending.run) : sending.custody();
  if (row === null) return [];
  return maximumOf(sending) > 0 ? [row, ...core.daySpend.rows()] : [row];
}

/**
 * A plain read of a live session that costs nothing leaves no row: no start would look it up. A restart ends its run, and
 * whoever reads the log finds an intent that the log was broken off behind, which is unknown.
 */
function isPassing(sending: Sending | CustodySending): boolean {
  const { errand, custody, operationId, outbound } = sending;
  return (
    errand === "call" &&
    custody === undefined &&
    operationId === undefined &&
    !outbound.sideEffect &&
    !isPreview(outbound) &&
    maximumOf(sending) === 0
  );
}

function maximumOf({ outbound }: Sending | CustodySending): number {
  return outbound.definition.action.maxCostCents ?? 0;
}

/** What a refusal charged is charged, and what an earlier send may have cost stays reserved beside it. */
function settle(
  core: Pick<AttemptNeeds, "daySpend">,
  run: Sending["run"] | CustodySending["run"],
  reservation: Reservation,
  settlement: Settlement,
  held: number,
): number {
  return spend(core, run, holdReserve(settleReservation(run.budget, reservation, settlement), held), reservation.day);
}

/** What the answer proves, by its status and by what the provider says in it. */
function judge({ sideEffect, channel, definition, bound }: Outbound, observation: TransportObservation): Verdict {
  const verdict = classifyObservation(observation, sideEffect, channel);
  switch (channel) {
    case "http": {
      const readBody = () => (observation.kind === "answered" ? readJson(observation) : null);
      const { action } = definition;
      if (action.kind === "http" && action.body === "git-receive-pack" && bound.kind === "http")
        return holdToReport(verdict, bound.body);
      if (documentOf(action) !== null) return holdToGraphql(verdict, sideEffect, readBody);
      return holdToMember(verdict, definition.pack.provider?.success ?? null, sideEffect, readBody);
    }
    case "ssh":
      return verdict;
  }
}

/** Null while nobody knows what happened: the reserve stays held. A price counts whatever else the answer says. */
function settlementOf({ definition }: Outbound, verdict: Verdict, doubted: boolean): Settlement | null {
  const { observation } = verdict;
  const { actualCost } = definition.action;
  switch (verdict.kind) {
    case "unknown":
      return null;
    case "redirect":
      return { kind: "assumed" };
    case "error":
    case "success":
    case "accepted": {
      // Refused now, and not known about before: what it may have cost stays reserved. A read without a whole answer may have cost.
      const unseen: Settlement = observation.kind === "silent" ? { kind: "assumed" } : { kind: "released" };
      const refused: Settlement | null = doubted ? null : unseen;
      const otherwise: Settlement | null = verdict.kind === "error" ? refused : { kind: "assumed" };
      if (actualCost === null || observation.kind !== "answered") return otherwise;
      const price = readPrice(actualCost, readJson(observation), observation.headers);
      return price.kind === "stated" ? { kind: "charged", cents: price.cents } : otherwise;
    }
  }
}

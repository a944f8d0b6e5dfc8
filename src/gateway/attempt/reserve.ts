import { type BudgetStop, type RunBudget, timeLeftMs } from "../../conventions/budget/budget.ts";
import { spentCents } from "../../conventions/budget/ceilings.ts";
import { decideWithin, type Reservation } from "../../conventions/budget/decide.ts";
import { reservationRecord } from "../../conventions/budget/record.ts";
import { handBack, settleReservation, takeOver } from "../../conventions/budget/settle.ts";
import { grantOf } from "../approval/authorize.ts";
import { now } from "../core.ts";
import { askToday, budgetDenied, holdToCeilings, reservedFor } from "../outbound/admit.ts";
import { requireOtherGrant } from "../outbound/grants.ts";
import type { Counted, StateRow } from "../ports.ts";
import { budgetFields } from "../record/record.ts";
import type { AttemptNeeds } from "./needs.ts";
import type { CustodySending, Sending } from "./sending.ts";

/** Step 7. The budget of the run is taken down before anything else can look at it: this is the one transaction. */
export function reserve(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  payerRows: () => readonly StateRow[],
): { reservation: Reservation; timeoutMs: number; cents: number } | Promise<never> {
  const { run, outbound } = sending;
  const { carries } = sending;
  if (sending.custody === undefined) run.budget = holdToCeilings(core, run.budget);
  const free = carries === undefined ? run.budget : takeOver(run.budget, carries);
  // What it takes over was counted on the day of the send before it, and is given back to no other.
  const ask = askToday(core, outbound, spentCents(run.budget) - spentCents(free), carries?.day);
  const other = sending.custody === undefined ? requireOtherGrant(core, sending.session, sending.authorization) : null;
  const decided = decideWithin(free, other?.limits ?? null, ask, now(core));
  // What was refused leaves the reserve of the attempt it would have repeated as it was.
  const cents = spend(
    core,
    run,
    decided.decision === "allow" ? decided.budget : { ...run.budget, stopReason: decided.budget.stopReason },
    ask.day,
  );
  return decided.decision === "allow" ? { ...decided, cents } : refuse(core, sending, decided.decision, payerRows());
}

async function refuse(
  core: AttemptNeeds,
  { run, outbound, callId }: Sending | CustodySending,
  decision: BudgetStop,
  rows: readonly StateRow[],
): Promise<never> {
  const rest = { attempt: run.budget.attemptsUsed, outcome: "denied", reason: decision, elapsedMs: 0 };
  await core.ledger.record(
    "budget.denied",
    [
      {
        ...core.envelope("budget_denied"),
        ...budgetFields(run.budget, outbound, rest),
        ...reservationRecord(run.budget, reservedFor(outbound), decision),
        call_id: callId,
        budget_stop_reason: run.budget.stopReason ?? decision,
      },
    ],
    rows,
  );
  throw budgetDenied(decision, run.budget);
}

/**
 * A token, where one is needed: what is got for it is paid by this attempt, so that a run causes no exchange that its budget
 * has no room for. Says how much time is left for the send itself.
 */
export async function makeReady(
  core: AttemptNeeds,
  sending: Sending,
  reservation: Reservation,
  timeoutMs: number,
  requireStill: () => void,
): Promise<number> {
  const { run } = sending;
  try {
    await core.tokens.ready(sending);
    // Somebody may have revoked while a token was got.
    requireStill();
    const leftMs = Math.min(timeoutMs, timeLeftMs(run.budget, now(core)));
    if (leftMs <= 0) throw budgetDenied("run_deadline_exhausted", run.budget);
    return leftMs;
  } catch (error) {
    giveBack(core, sending, reservation);
    throw error;
  }
}

/** What limits of the fleet count is counted before it leaves. What the gateway does to look after an operation is not. */
export function countForFleet(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  reservation: Reservation,
  cents: number,
  requireStill: () => void,
): Promise<Counted> | null {
  const { outbound, authorization, custody, errand } = sending;
  if (core.ports.hub === undefined || custody !== undefined || errand === "probe") return null;
  const { definition, credential, sideEffect } = outbound;
  const send = { pack: definition.pack.name, credential, grant: grantOf(authorization), sideEffect, cents };
  const counting = core.ports.hub.count(send);
  return counting === null ? null : onceCounted(core, sending, reservation, counting, requireStill);
}

async function onceCounted(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  reservation: Reservation,
  counting: Promise<Counted>,
  requireStill: () => void,
): Promise<Counted> {
  let counted: Counted | null = null;
  try {
    counted = await counting;
    // Somebody may have revoked while the hub was asked.
    requireStill();
    return counted;
  } catch (error) {
    counted?.giveBack();
    giveBack(core, sending, reservation);
    throw error;
  }
}

/** Nothing of this attempt left. What an earlier send of the same call holds or was charged stays with the run. */
export function giveBack(
  core: Pick<AttemptNeeds, "daySpend">,
  { run, carries }: Sending | CustodySending,
  reservation: Reservation,
): void {
  const free = settleReservation(run.budget, reservation, { kind: "released" });
  spend(core, run, carries === undefined ? free : handBack(free, carries), reservation.day);
}

/** What a run spends counts for the day too, and what it gives back for the day it was reserved on. Says how much more that is. */
export function spend(
  { daySpend }: Pick<AttemptNeeds, "daySpend">,
  run: { budget: RunBudget },
  budget: RunBudget,
  reservedOn: string,
): number {
  const cents = spentCents(budget) - spentCents(run.budget);
  if (cents > 0) daySpend.add(cents);
  else if (cents < 0) daySpend.giveBack(-cents, reservedOn);
  run.budget = budget;
  return cents;
}

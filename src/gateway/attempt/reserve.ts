import { type RunBudget, timeLeftMs } from "../../conventions/budget/budget.ts";
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
export async function reserve(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  payerRows: () => readonly StateRow[],
): Promise<{ reservation: Reservation; timeoutMs: number; cents: number }> {
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
  if (decided.decision === "allow") return { ...decided, cents };
  const rest = { attempt: run.budget.attemptsUsed, outcome: "denied", reason: decided.decision, elapsedMs: 0 };
  await core.ledger.record(
    "budget.denied",
    [
      {
        ...core.envelope("budget_denied"),
        ...budgetFields(run.budget, outbound, rest),
        ...reservationRecord(run.budget, reservedFor(outbound), decided.decision),
        call_id: sending.callId,
        budget_stop_reason: run.budget.stopReason ?? decided.decision,
      },
    ],
    payerRows(),
  );
  throw budgetDenied(decided.decision, run.budget);
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
export async function countForFleet(
  core: AttemptNeeds,
  sending: Sending | CustodySending,
  reservation: Reservation,
  cents: number,
  requireStill: () => void,
): Promise<Counted | null> {
  const { outbound, authorization, custody, errand } = sending;
  if (core.ports.hub === undefined || custody !== undefined || errand === "probe") return null;
  const { definition, credential, sideEffect } = outbound;
  let counted: Counted | null = null;
  try {
    const send = { pack: definition.pack.name, credential, grant: grantOf(authorization), sideEffect, cents };
    counted = await core.ports.hub.count(send);
    // Somebody may have revoked while the hub was asked.
    if (counted !== null) requireStill();
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

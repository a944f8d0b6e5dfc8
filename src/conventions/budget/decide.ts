import {
  attemptsRemaining,
  type BudgetStop,
  type Now,
  narrowBudget,
  type RunBudget,
  type RunLimits,
  spendRemainingCents,
  timeLeftMs,
} from "./budget.ts";

/** What one attempt would take from the run. */
export interface ReservationAsk {
  readonly sideEffect: boolean;
  /** The maximum possible charge: all of it is reserved. */
  readonly maximumCents: number;
  /** The operation's own time cap. */
  readonly capMs: number;
  /** The day that it would count for. */
  readonly day: string;
  /** What all runs of this day may still spend. */
  readonly dayLeftCents?: number;
  /** Less time than this is not worth starting: the request would outlast the run. */
  readonly minimumMs: number;
}

export interface Reservation {
  readonly maximumCents: number;
  readonly sideEffect: boolean;
  /** Which attempt of the run this is, from 1. */
  readonly attempt: number;
  /** The day that it counts for: what is given back is given to no other. */
  readonly day: string;
}

export type ReservationDecision =
  | {
      readonly decision: "allow";
      readonly budget: RunBudget;
      readonly reservation: Reservation;
      /** The smaller of the operation's own cap and the remaining run time. */
      readonly timeoutMs: number;
    }
  | { readonly decision: BudgetStop; readonly budget: RunBudget };

/** Takes one attempt out of the budget, or says which ceiling refuses it. The refused budget remembers the first reason. */
export function decideReservation(budget: RunBudget, ask: ReservationAsk, now: Now): ReservationDecision {
  const stop = findStop(budget, ask, now);
  if (stop !== null) return { decision: stop, budget: { ...budget, stopReason: budget.stopReason ?? stop } };
  const attempt = budget.attemptsUsed + 1;
  return {
    decision: "allow",
    budget: {
      ...budget,
      attemptsUsed: attempt,
      sideEffectAttempts: budget.sideEffectAttempts + (ask.sideEffect ? 1 : 0),
      reservedSpendCents: budget.reservedSpendCents + ask.maximumCents,
    },
    reservation: { maximumCents: ask.maximumCents, sideEffect: ask.sideEffect, attempt, day: ask.day },
    timeoutMs: Math.min(ask.capMs, timeLeftMs(budget, now)),
  };
}

/** Held to the ceilings of what lets this very ask pass, too. The run's own stay as they are. */
export function decideWithin(
  budget: RunBudget,
  limits: RunLimits | null,
  ask: ReservationAsk,
  now: Now,
): ReservationDecision {
  if (limits === null) return decideReservation(budget, ask, now);
  const decided = decideReservation(narrowBudget(budget, limits), ask, now);
  const { limits: own, deadlineBootMs, deadlineAt } = budget;
  return { ...decided, budget: { ...decided.budget, limits: own, deadlineBootMs, deadlineAt } };
}

function findStop(budget: RunBudget, ask: ReservationAsk, now: Now): BudgetStop | null {
  if (timeLeftMs(budget, now) < Math.max(1, ask.minimumMs)) return "run_deadline_exhausted";
  if (attemptsRemaining(budget) === 0) return "attempts_exhausted";
  if (ask.sideEffect && budget.sideEffectAttempts >= budget.limits.sideEffects) return "side_effects_exhausted";
  if (ask.maximumCents > 0 && budget.overage) return "spend_overage";
  if (ask.maximumCents > spendRemainingCents(budget)) return "spend_exhausted";
  if (ask.maximumCents > 0 && ask.maximumCents > (ask.dayLeftCents ?? Number.POSITIVE_INFINITY))
    return "day_spend_exhausted";
  return null;
}

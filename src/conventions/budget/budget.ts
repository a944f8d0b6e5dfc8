import { isoTime } from "../../kernel/clock.ts";
import type { RunId } from "../../kernel/ids.ts";

/**
 * The budget of one run: separate ceilings for attempts, side effects, elapsed time and spend, any of which can stop it.
 * Time is boot time: suspend and downtime count, another boot ends the run, and wall time is kept for people only.
 */
export interface RunLimits {
  readonly attempts: number;
  readonly sideEffects: number;
  readonly durationMs: number;
  readonly spendCents: number;
}

export type BudgetStop =
  | "run_deadline_exhausted"
  | "attempts_exhausted"
  | "side_effects_exhausted"
  | "spend_exhausted"
  | "day_spend_exhausted"
  | "spend_overage";

export interface RunBudget {
  readonly runId: RunId;
  readonly limits: RunLimits;
  readonly bootId: string;
  readonly deadlineBootMs: number;
  readonly deadlineAt: string;
  readonly attemptsUsed: number;
  readonly sideEffectAttempts: number;
  readonly reservedSpendCents: number;
  readonly settledSpendCents: number;
  /** A charge went beyond its reserve: nothing more may be spent. */
  readonly overage: boolean;
  /** The first limit that stopped further work. */
  readonly stopReason: BudgetStop | null;
}

/** The moment a decision is made at. */
export interface Now {
  readonly wallMs: number;
  readonly bootMs: number;
  readonly bootId: string;
}

export function openBudget(runId: RunId, limits: RunLimits, now: Now): RunBudget {
  return {
    runId,
    limits,
    bootId: now.bootId,
    deadlineBootMs: now.bootMs + limits.durationMs,
    deadlineAt: isoTime(now.wallMs + limits.durationMs),
    attemptsUsed: 0,
    sideEffectAttempts: 0,
    reservedSpendCents: 0,
    settledSpendCents: 0,
    overage: false,
    stopReason: null,
  };
}

/** A person may narrow a run while approving it: every ceiling goes down or stays, never up, and time already used stays used. */
export function narrowBudget(budget: RunBudget, limits: RunLimits): RunBudget {
  if (fitsWithin(budget.limits, limits)) return budget;
  const lower: RunLimits = {
    attempts: Math.min(budget.limits.attempts, limits.attempts),
    sideEffects: Math.min(budget.limits.sideEffects, limits.sideEffects),
    durationMs: Math.min(budget.limits.durationMs, limits.durationMs),
    spendCents: Math.min(budget.limits.spendCents, limits.spendCents),
  };
  const cutMs = budget.limits.durationMs - lower.durationMs;
  return {
    ...budget,
    limits: lower,
    deadlineBootMs: budget.deadlineBootMs - cutMs,
    deadlineAt: isoTime(Date.parse(budget.deadlineAt) - cutMs),
  };
}

/** Nearly every budget that is held to the ceilings of policy, which happens twice a call. */
function fitsWithin(own: RunLimits, ceilings: RunLimits): boolean {
  return (
    own.attempts <= ceilings.attempts &&
    own.sideEffects <= ceilings.sideEffects &&
    own.durationMs <= ceilings.durationMs &&
    own.spendCents <= ceilings.spendCents
  );
}

/** Milliseconds until the deadline; zero once it has passed, and for a deadline of another boot. */
export function timeLeftMs(budget: RunBudget, now: Now): number {
  return budget.bootId === now.bootId ? Math.max(0, budget.deadlineBootMs - now.bootMs) : 0;
}

export function attemptsRemaining(budget: RunBudget): number {
  return Math.max(0, budget.limits.attempts - budget.attemptsUsed);
}

export function spendRemainingCents(budget: RunBudget): number {
  return Math.max(0, budget.limits.spendCents - budget.settledSpendCents - budget.reservedSpendCents);
}

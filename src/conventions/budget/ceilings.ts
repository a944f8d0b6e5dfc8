import { defaults } from "../../kernel/defaults.ts";
import type { RunBudget, RunLimits } from "./budget.ts";

/** What no run passes, whoever approved it: signed into policy, and narrower than that where a run asked for less. */
export interface Ceilings extends RunLimits {
  /** Of all runs of a day together, by the UTC date. */
  readonly daySpendCents: number;
}

/** Where policy names none. */
export const STANDARD_CEILINGS: Ceilings = {
  attempts: defaults.runMaximumAttempts,
  sideEffects: defaults.runMaximumSideEffects,
  durationMs: defaults.runMaximumDurationMs,
  spendCents: defaults.ceilingRunSpendCents,
  daySpendCents: defaults.ceilingDaySpendCents,
};

export function withinCeilings(limits: RunLimits, ceilings: Ceilings): RunLimits {
  return {
    attempts: Math.min(limits.attempts, ceilings.attempts),
    sideEffects: Math.min(limits.sideEffects, ceilings.sideEffects),
    durationMs: Math.min(limits.durationMs, ceilings.durationMs),
    spendCents: Math.min(limits.spendCents, ceilings.spendCents),
  };
}

/** What a run has spent or may still be charged. */
export function spentCents({ reservedSpendCents, settledSpendCents }: RunBudget): number {
  return reservedSpendCents + settledSpendCents;
}

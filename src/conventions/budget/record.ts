import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { count, object, text, textOrNull, whole, wholeOrNull } from "../../../packages/request/src/shape.ts";
import { attemptsRemaining, type BudgetStop, type RunBudget, type RunLimits, spendRemainingCents } from "./budget.ts";
import type { Reservation } from "./decide.ts";
import { centsOf, type Settlement } from "./settle.ts";

/** The run budget record, with the specification's field names. */
export const budgetSchema = object({
  run_id: text,
  attempts_used: count,
  attempts_remaining: whole,
  deadline_at: text,
  reserved_spend: whole,
  settled_spend: whole,
  spend_remaining_cents: whole,
  side_effect_attempts: count,
  side_effects_remaining: count,
  budget_stop_reason: textOrNull,
});

export type BudgetRecord = FromSchema<typeof budgetSchema>;

export function budgetRecord(budget: RunBudget): BudgetRecord {
  return {
    run_id: budget.runId,
    attempts_used: budget.attemptsUsed,
    attempts_remaining: attemptsRemaining(budget),
    deadline_at: budget.deadlineAt,
    reserved_spend: budget.reservedSpendCents,
    settled_spend: budget.settledSpendCents,
    spend_remaining_cents: spendRemainingCents(budget),
    side_effect_attempts: budget.sideEffectAttempts,
    side_effects_remaining: Math.max(0, budget.limits.sideEffects - budget.sideEffectAttempts),
    budget_stop_reason: budget.stopReason,
  };
}

/** The reservation record of the specification. `provider_reference` is the provider's own name of the charge, once there is one. */
export type ReservationRecord = {
  readonly budget: {
    readonly attempts_remaining: number;
    readonly deadline_at: string;
    readonly spend_remaining_cents: number;
  };
  readonly reservation: {
    readonly action: string;
    readonly maximum_cents: number;
    readonly provider_reference: string | null;
  };
  readonly decision: "allow" | BudgetStop;
};

export function reservationRecord(
  budget: RunBudget,
  asked: ReservationRecord["reservation"],
  decision: ReservationRecord["decision"],
): ReservationRecord {
  return {
    budget: {
      attempts_remaining: attemptsRemaining(budget),
      deadline_at: budget.deadlineAt,
      spend_remaining_cents: spendRemainingCents(budget),
    },
    reservation: asked,
    decision,
  };
}

/** What a call cost, as its result says. */
export const costSchema = object({
  reserved_cents: whole,
  /** Null while nobody knows: the reserve stays held. */
  charged_cents: wholeOrNull,
  /** Who says so: the provider, the ceiling where it did not say, or the proof that nothing was done. */
  basis: { enum: ["stated", "assumed", "released", "held"] },
  overage_cents: whole,
});

export type CostRecord = FromSchema<typeof costSchema>;

export function costRecord(reservation: Reservation, settlement: Settlement | null): CostRecord {
  const reserved_cents = reservation.maximumCents;
  if (settlement === null) return { reserved_cents, charged_cents: null, basis: "held", overage_cents: 0 };
  const charged_cents = centsOf(reservation, settlement);
  const basis = settlement.kind === "charged" ? "stated" : settlement.kind;
  return { reserved_cents, charged_cents, basis, overage_cents: Math.max(0, charged_cents - reserved_cents) };
}

/** The ceilings as a card, a request and a grant write them. */
export const limitsSchema = object({
  attempts: count,
  side_effects: count,
  duration_seconds: count,
  spend_cents: count,
});

export type LimitsRecord = FromSchema<typeof limitsSchema>;

export function limitsRecord(limits: RunLimits): LimitsRecord {
  return {
    attempts: limits.attempts,
    side_effects: limits.sideEffects,
    duration_seconds: Math.floor(limits.durationMs / 1000),
    spend_cents: limits.spendCents,
  };
}

/** Reads a request's budget over the defaults; what is left out keeps its default. */
export function readLimits(record: Partial<LimitsRecord>, standard: RunLimits): RunLimits {
  return {
    attempts: record.attempts ?? standard.attempts,
    sideEffects: record.side_effects ?? standard.sideEffects,
    durationMs: record.duration_seconds === undefined ? standard.durationMs : record.duration_seconds * 1000,
    spendCents: record.spend_cents ?? standard.spendCents,
  };
}

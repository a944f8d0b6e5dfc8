import { type Command, InvalidArgumentError } from "commander";
import type { LimitsRecord } from "../../../conventions/budget/record.ts";
import { defaults } from "../../../kernel/defaults.ts";

/** The ceilings of a run, in the same words wherever one is asked for, granted or narrowed. */
export interface BudgetOptions {
  readonly attempts?: number;
  readonly sideEffects?: number;
  readonly minutes?: number;
  /** In cents. */
  readonly spend?: number;
}

export function addBudgetOptions(command: Command): Command {
  return command
    .option("--attempts <N>", "at most so many sends a run", whole(1, defaults.runMaximumAttempts))
    .option(
      "--side-effects <N>",
      "at most so many sends a run that change something",
      whole(0, defaults.runMaximumSideEffects),
    )
    .option("--minutes <N>", "at most so long a run", whole(1, defaults.runMaximumDurationMs / 60_000))
    .option("--spend <CENTS>", "at most so much money a run", whole(0, defaults.runMaximumSpendCents));
}

/** Only what was asked for: the gateway has the defaults. */
export function budgetAsked({ attempts, sideEffects, minutes, spend }: BudgetOptions): Partial<LimitsRecord> {
  return {
    ...(attempts === undefined ? {} : { attempts }),
    ...(sideEffects === undefined ? {} : { side_effects: sideEffects }),
    ...(minutes === undefined ? {} : { duration_seconds: minutes * 60 }),
    ...(spend === undefined ? {} : { spend_cents: spend }),
  };
}

/** A whole number as a person types it, in plain digits. */
export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) throw new InvalidArgumentError(`a whole number from ${least} to ${most}`);
    return value;
  };
}

import type { RunBudget } from "./budget.ts";
import type { Reservation } from "./decide.ts";

/**
 * How a reservation ends. `released`: proven that nothing left, so no charge can follow; `charged`: the provider said
 * how much; `assumed`: the call ended without a price, so the maximum is taken. An unknown outcome is not settled at all:
 * its reserve stays held until somebody knows.
 */
export type Settlement =
  | { readonly kind: "released" }
  | { readonly kind: "charged"; readonly cents: number }
  | { readonly kind: "assumed" };

/** Turns a reserve into spend. The attempt itself is never given back: failed connections are external activity too. */
export function settleReservation(
  budget: RunBudget,
  reservation: Pick<Reservation, "maximumCents">,
  settlement: Settlement,
): RunBudget {
  const cents = centsOf(reservation, settlement);
  const overage = cents > reservation.maximumCents;
  return {
    ...budget,
    reservedSpendCents: budget.reservedSpendCents - reservation.maximumCents,
    settledSpendCents: budget.settledSpendCents + cents,
    overage: budget.overage || overage,
    stopReason: overage ? (budget.stopReason ?? "spend_overage") : budget.stopReason,
  };
}

/** A reserve that an earlier send of the same call holds, or that was already taken for spent when it was redirected. */
export interface Carried {
  readonly maximumCents: number;
  /** The day that it counts for, whenever the next send is made. */
  readonly day: string;
  readonly spent?: boolean;
}

/** One call has one charge at most: its next send takes over what the one before holds or was charged. */
export function takeOver(budget: RunBudget, { maximumCents, spent = false }: Carried): RunBudget {
  return spent
    ? { ...budget, settledSpendCents: budget.settledSpendCents - maximumCents }
    : { ...budget, reservedSpendCents: budget.reservedSpendCents - maximumCents };
}

/** The next send never left: what it took over is as it was before. */
export function handBack(budget: RunBudget, carried: Carried): RunBudget {
  return takeOver(budget, { ...carried, maximumCents: -carried.maximumCents });
}

/** Holds a reserve on beside what was charged: the outcome of an earlier send is still unknown. */
export function holdReserve(budget: RunBudget, cents: number): RunBudget {
  return { ...budget, reservedSpendCents: budget.reservedSpendCents + cents };
}

export function centsOf(reservation: Pick<Reservation, "maximumCents">, settlement: Settlement): number {
  switch (settlement.kind) {
    case "released":
      return 0;
    case "charged":
      return settlement.cents;
    case "assumed":
      return reservation.maximumCents;
  }
}

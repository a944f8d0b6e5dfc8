import type { NewEvent } from "../../audit/event.ts";
import type { RunBudget } from "../../conventions/budget/budget.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import { type Settlement, settleReservation } from "../../conventions/budget/settle.ts";
import type { Beside } from "../attempt/sending.ts";
import { reachOf } from "../outbound/outbound.ts";
import type { StateRow } from "../ports.ts";
import { budgetFields } from "../record/record.ts";
import { budgetBody, readBudget, runRow } from "../record/rows.ts";
import type { OperationNeeds } from "./needs.ts";
import { linksOf } from "./operation.ts";
import { learn, type Operation } from "./operations.ts";

/**
 * What a reconciliation proves ends the reserve that the unknown outcome kept: spent where it happened, given back where
 * it did not. Written with the event that proves it, once, and also when the run is over.
 */
export function settleHeld(core: OperationNeeds, operation: Operation): Beside {
  const settlement = settlementOf(operation);
  if (operation.held === 0 || settlement === null) return { events: [], rows: [] };
  const reservation = { maximumCents: operation.held, day: operation.heldOn };
  learn(operation, { kind: "reserve", cents: 0, day: "" });
  const run = core.book.run(operation.purse.id);
  if (run !== undefined) {
    run.budget = settleReservation(run.budget, reservation, settlement);
    const rows = [runRow(run), ...settleToday(core, reservation, settlement)];
    return { events: [settledEvent(core, operation, run.budget, settlement)], rows };
  }
  const row = core.ledger.find("runs", operation.purse.id);
  if (row === null) return { events: [], rows: [] };
  if ("tampered" in row) {
    return { events: [{ ...core.envelope("state_tampered"), table: "runs", row: row.tampered }], rows: [] };
  }
  const budget = settleReservation(readBudget(row), reservation, settlement);
  // The run of another gateway is its own to write: it may be at work with it right now.
  const own = (row.body["worker"] ?? core.worker) === core.worker;
  const settled: StateRow = { ...row, body: { ...row.body, budget: budgetBody(budget) } };
  const rows = own ? [settled, ...settleToday(core, reservation, settlement)] : [];
  return { events: [settledEvent(core, operation, budget, settlement)], rows };
}

/** What is spent was reserved of the day before; what is given back, the day has again as long as it lasts. */
function settleToday(
  { daySpend }: Pick<OperationNeeds, "daySpend">,
  { maximumCents, day }: Pick<Reservation, "maximumCents" | "day">,
  { kind }: Settlement,
): readonly StateRow[] {
  if (kind !== "released") return [];
  daySpend.giveBack(maximumCents, day);
  return daySpend.rows();
}

/** Null while nobody knows. */
function settlementOf({ state }: Operation): Settlement | null {
  if (state === "accepted" || state === "succeeded") return { kind: "assumed" };
  return state === "failed" ? { kind: "released" } : null;
}

function settledEvent(
  core: Pick<OperationNeeds, "envelope" | "packs">,
  operation: Operation,
  budget: RunBudget,
  { kind }: Settlement,
): NewEvent {
  const found = core.packs().find(operation.action);
  const channel = found === null ? "http" : reachOf(found).channel;
  return {
    ...core.envelope("budget_settled"),
    ...linksOf(operation),
    ...budgetFields(
      budget,
      { action: operation.action, channel, definition: found },
      { attempt: 0, outcome: kind === "released" ? "failed" : "succeeded", reason: "reconciled", elapsedMs: 0 },
    ),
    settled_spend_cents: budget.settledSpendCents,
  };
}

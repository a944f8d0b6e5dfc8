import type { RunBudget } from "../../conventions/budget/budget.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { StateRow } from "../ports.ts";
import type { Run, Session } from "../run/run.ts";

/** The run as it must survive us: its budget is not refunded by a restart, and its sessions end with this process. */
export function runRow(run: Run): StateRow {
  return {
    table: "runs",
    id: run.id,
    runId: run.id,
    state: run.state,
    body: {
      budget: budgetBody(run.budget),
      sessions: [...run.sessions.values()].filter(mayContinue).map(({ id }) => id),
      end_reason: run.endReason,
    },
  };
}

/** The run while a session begins in it. Either may have ended already, which is told and kept next. */
export function openingRow(run: Run, { id }: Session): StateRow {
  const { body, ...row } = runRow(run);
  const others = [...run.sessions.values()].filter((one) => one.id !== id && mayContinue(one));
  return { ...row, state: "open", body: { ...body, sessions: [...others.map((one) => one.id), id] } };
}

/** The budget of a run that this process no longer knows, as its row keeps it. */
export function readBudget(row: StateRow): RunBudget {
  return row.body["budget"] as unknown as RunBudget;
}

export function budgetBody(budget: RunBudget): JsonObject {
  const { limits, ...rest } = budget;
  return { ...rest, limits: { ...limits } };
}

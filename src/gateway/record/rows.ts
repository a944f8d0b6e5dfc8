import type { RunBudget } from "../../conventions/budget/budget.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { StateRow } from "../ports.ts";
import type { Run, Session } from "../run/run.ts";

/**
 * The run as it must survive us: its budget is not refunded by a restart, and its sessions end with this process. What the
 * log does not know to be over stands as open, whoever writes the row: a start would not tell its end otherwise.
 */
export function runRow(run: Run): StateRow {
  return {
    table: "runs",
    id: run.id,
    runId: run.id,
    state: run.untold.has(run.id) ? "open" : run.state,
    body: {
      budget: budgetBody(run.budget),
      sessions: openSessions(run),
      end_reason: run.endReason,
    },
  };
}

/** The run while a session begins in it. Either may have ended already, which is told and kept next. */
export function openingRow(run: Run, { id }: Session): StateRow {
  const { body, ...row } = runRow(run);
  const others = openSessions(run).filter((one) => one !== id);
  return { ...row, state: "open", body: { ...body, sessions: [...others, id] } };
}

function openSessions(run: Run): string[] {
  const open = [...run.sessions.values()].filter((one) => mayContinue(one) || run.untold.has(one.id));
  return open.map(({ id }) => id);
}

/** The budget of a run that this process no longer knows, as its row keeps it. */
export function readBudget(row: StateRow): RunBudget {
  return row.body["budget"] as unknown as RunBudget;
}

export function budgetBody(budget: RunBudget): JsonObject {
  const { limits, ...rest } = budget;
  return { ...rest, limits: { ...limits } };
}

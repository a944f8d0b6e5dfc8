import { counted, showText } from "../../../kernel/display.ts";
import type { RunView } from "../../agent/answers.ts";
import type { Ended } from "./start-command.ts";

/** What was done, in a few lines, from the gateway's own record of the run. */
export function summaryLines(command: string, ended: Ended, leftBehind: number, run: RunView | null): string[] {
  const how = ended.signal === null ? `status ${ended.exit}` : ended.signal;
  const lines = [`gw run: ${showText(command)} ended with ${how}.`];
  if (run === null) lines.push("  The gateway did not answer about the run. What was done is in: gw activity");
  else lines.push(...runLines(run));
  if (leftBehind > 0) {
    const [processes, live] = leftBehind === 1 ? ["process", "lives"] : ["processes", "live"];
    lines.push(`  ${leftBehind} ${processes} that it started still ${live}, and may no longer act in this run.`);
  }
  return lines;
}

function runLines({ run_id, state, calls, budget, end_reason }: RunView): string[] {
  const of = (used: number, left: number): string => `${used} of ${used + left}`;
  const kinds = (["success", "error", "denied", "unknown"] as const).map((kind) => `${calls[kind]} ${kind}`);
  const open = calls.started - calls.success - calls.error - calls.denied - calls.unknown;
  const attempts = of(budget.attempts_used, budget.attempts_remaining);
  const effects = of(budget.side_effect_attempts, budget.side_effects_remaining);
  const spent = of(budget.settled_spend, budget.spend_remaining_cents);
  const reserved = budget.reserved_spend > 0 ? ` (${budget.reserved_spend} still reserved)` : "";
  const lines = [
    `  ${counted(calls.started, "call")}: ${kinds.join(", ")}${open > 0 ? `, ${open} not answered yet` : ""}`,
    `  used ${attempts} attempts, ${effects} side effects; spent ${spent} cents${reserved}`,
  ];
  if (budget.budget_stop_reason !== null) lines.push(`  the budget stopped it: ${budget.budget_stop_reason}`);
  if (state === "ended") lines.push(`  the run had ended before: ${showText(String(end_reason))}`);
  if (calls.unknown_calls.length > 0)
    lines.push(`  outcome unknown, so do not repeat: ${calls.unknown_calls.join(", ")} (gw activity --run ${run_id})`);
  return lines;
}

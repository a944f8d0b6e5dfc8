import { showText } from "../../../kernel/display.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { RunView } from "../../client/agent.ts";
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

function runLines(run: RunView): string[] {
  const calls = run["calls"] as JsonObject;
  const budget = run["budget"] as JsonObject;
  const number = (from: JsonObject, name: string): number => Number(from[name] ?? 0);
  const of = (used: string, left: string): string =>
    `${number(budget, used)} of ${number(budget, used) + number(budget, left)}`;
  const kinds = ["success", "error", "denied", "unknown"].map((kind) => `${number(calls, kind)} ${kind}`);
  const open =
    number(calls, "started") -
    ["success", "error", "denied", "unknown"].reduce((sum, kind) => sum + number(calls, kind), 0);
  const lines = [
    `  ${plural(number(calls, "started"), "call")}: ${kinds.join(", ")}${open > 0 ? `, ${open} not answered yet` : ""}`,
    `  used ${of("attempts_used", "attempts_remaining")} attempts, ${of("side_effect_attempts", "side_effects_remaining")} side effects; spent ${of("settled_spend", "spend_remaining_cents")} cents${number(budget, "reserved_spend") > 0 ? ` (${number(budget, "reserved_spend")} still reserved)` : ""}`,
  ];
  const stop = budget["budget_stop_reason"];
  if (typeof stop === "string") lines.push(`  the budget stopped it: ${stop}`);
  if (run.state === "ended") lines.push(`  the run had ended before: ${showText(String(run["end_reason"]))}`);
  const unknown = calls["unknown_calls"];
  if (Array.isArray(unknown) && unknown.length > 0) {
    lines.push(`  outcome unknown, so do not repeat: ${unknown.join(", ")} (gw activity --run ${run.run_id})`);
  }
  return lines;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

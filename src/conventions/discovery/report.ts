import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { count, object, text, textOrNull, wholeOrNull } from "../../../packages/request/src/shape.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { counted, showText } from "../../kernel/display.ts";
import type { BudgetStop } from "../budget/budget.ts";
import type { Walk, WalkStop } from "./walk.ts";

/** Why a walk ended: a rule of its own, a budget, or what the provider answered (`status_503`, `timeout` …). */
export type StopReason =
  | { readonly kind: "walk"; readonly reason: WalkStop }
  | { readonly kind: "budget"; readonly reason: BudgetStop }
  | { readonly kind: "unanswered"; readonly reason: string };

/** The discovery report of the specification. It goes to agents and people, so that the cursor never stands in it. */
export const discoverySchema = object({
  scope: text,
  requested_page_size: wholeOrNull,
  pages_fetched: count,
  records_received: count,
  completion: { enum: ["complete", "partial"] },
  stop_reason: text,
  /** Length and digest of it: enough to see that two are the same, too little to use. */
  last_continuation_cursor: textOrNull,
  observed_finding: text,
  uninspected_scope: text,
  action_taken: text,
  /** A handle of ours under which the list goes on for a while; null where it ended or cannot go on. */
  continue: textOrNull,
});

export type DiscoveryReport = FromSchema<typeof discoverySchema>;

export function reportWalk(walk: Walk, stop: StopReason, scope: string, pageSize: number | null): DiscoveryReport {
  const complete = stop.kind === "walk" && stop.reason === "end_of_list";
  return {
    scope,
    requested_page_size: pageSize,
    pages_fetched: walk.pages,
    records_received: walk.received,
    completion: complete ? "complete" : "partial",
    stop_reason: stop.reason,
    last_continuation_cursor: walk.cursor === null ? null : redactCursor(walk.cursor),
    observed_finding: findingOf(walk, stop),
    uninspected_scope: uninspectedOf(walk, stop),
    action_taken: complete
      ? "Read the list to its end. Nothing was changed."
      : "Stopped, and kept what was read. Nothing was changed.",
    continue: null,
  };
}

export function redactCursor(cursor: string): string {
  return `[redacted: ${[...cursor].length} characters, ${digestText(cursor).slice(0, 23)}…]`;
}

function findingOf(walk: Walk, stop: StopReason): string {
  const read = `${counted(walk.pages, "page")} with ${counted(walk.received, "record")} read`;
  return `${read}; ${whyOf(walk, stop)}.`;
}

function whyOf({ limits }: Walk, stop: StopReason): string {
  switch (stop.kind) {
    case "budget":
      return `the run's budget stopped it before the next page (${stop.reason})`;
    case "unanswered":
      return `the next page was not answered (${stop.reason})`;
    case "walk":
      switch (stop.reason) {
        case "end_of_list":
          return "the provider says that the list ends here";
        case "page_ceiling":
          return `the ceiling of ${counted(limits.pages, "page")} was reached`;
        case "record_ceiling":
          return `the ceiling of ${counted(limits.records, "record")} was reached`;
        case "size_ceiling":
          return `the pages together reached ${limits.bytes} bytes`;
        case "cursor_repeated":
          return "the provider gave a cursor that it had given before";
        case "page_malformed":
          return "an answer is not a page of a list as the definition describes it";
        case "continuation_malformed":
          return "what should lead to the next page cannot be read";
        case "continuation_foreign":
          return "the next page is said to be at another origin or path, which was not followed";
        case "continuation_undocumented":
          return "the next page is said to be reached in a way that the definition does not describe";
      }
  }
}

function uninspectedOf(walk: Walk, stop: StopReason): string {
  if (stop.kind === "walk" && stop.reason === "end_of_list") return "None, by the provider's own account.";
  const cut = walk.received - walk.records.length;
  const dropped = cut > 0 ? `${counted(cut, "record")} received beyond the ceiling and dropped; ` : "";
  const from = walk.pages === 0 ? "All of it" : "Everything after the last page that was read";
  return `${dropped}${dropped === "" ? from : from.toLowerCase()}. How much that is, is not known.`;
}

/** For people, with the labels of the specification. */
export function reportLines(report: DiscoveryReport): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ["Scope", report.scope],
    [
      "Requested page size",
      report.requested_page_size === null ? "the provider's own" : String(report.requested_page_size),
    ],
    ["Pages fetched", String(report.pages_fetched)],
    ["Records received", String(report.records_received)],
    ["Completion", report.completion],
    ["Stop reason", report.stop_reason],
    ["Last continuation cursor", report.last_continuation_cursor ?? "none"],
    ["Observed finding", report.observed_finding],
    ["Uninspected scope", report.uninspected_scope],
    ["Action taken", report.action_taken],
  ];
  return rows.map(([label, value]) => `${`${label}:`.padEnd(26)}${showText(value)}`);
}

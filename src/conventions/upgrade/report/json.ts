import type { Difference } from "../compare/difference.ts";
import type { ApiFacts } from "../compare/review.ts";
import type { DecisionState } from "../decision/settle.ts";
import type { Report } from "./report.ts";

/** A component can stand under every operation of an API; naming the first of them a thousand times helps nobody. */
const OPERATIONS = 200;

/** The report for programs. Names are stable; new members may come with a minor release. */
export function reportJson(report: Report): object {
  const { review, settlement } = report;
  return {
    format: "gw.upgrade-report/v1",
    verdict: settlement.verdict,
    before: facts(review.before),
    after: facts(review.after),
    operations: review.counts,
    surfaces: report.totals,
    open: settlement.open.length,
    rejected: settlement.rejected.length,
    differences: review.differences.map((one) => differenceRecord(one, settlement.states.get(one.id))),
    authority_map_changes: report.mapChanges,
    ...(report.probe === undefined ? {} : { probe: report.probe }),
  };
}

function facts(api: ApiFacts): object {
  const { file, digest, dialect, title, version, operations } = api;
  return { file, digest, dialect, title, version, operations };
}

function differenceRecord(one: Difference, state: DecisionState | undefined): object {
  return {
    id: one.id,
    group: one.group,
    surface: one.surface,
    kind: one.kind,
    change: one.change,
    subject: one.subject,
    at: one.at,
    says: one.says,
    before: one.before,
    after: one.after,
    binding: one.binding,
    notes: one.notes,
    operations: one.operations.slice(0, OPERATIONS),
    operations_total: one.operations.length,
    agent_scopes: one.scopes,
    line_before: one.lines.before,
    line_after: one.lines.after,
    effect: one.effect,
    credential: one.credential,
    flows: one.flows.map(({ field, steering, takenBy, total }) => ({ field, steering, taken_by: takenBy, total })),
    decision:
      state === undefined || state.kind === "open" ? { state: "open" } : { state: state.kind, ...state.decision },
  };
}

import type { ActivityEntry, PreviewEntry } from "../../../audit/journals/activity-entry.ts";
import type { SessionEntry } from "../../../audit/journals/sessions.ts";
import { quote } from "../../../conventions/approval/render-line.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import type { JournalEntry } from "./filter.ts";

/** What is told of an entry: when, what came of what, and the rest with the name to ask for more by. */
export interface Row {
  readonly at: string;
  readonly outcome: string;
  readonly subject: string;
  /** Short, and right-aligned beside its neighbours. */
  readonly figures: string;
  readonly rest: string;
}

const SUBJECT_MAX = 34;
const OUTCOME_WIDTH = 10;

/** Everything that others wrote is escaped; none of it can start a line of its own. */
export function rowOf(entry: JournalEntry): Row {
  return entry.kind === "session" ? sessionRow(entry) : activityRow(entry);
}

/** In columns; where a row is wider than the terminal, what is left of it stands below. */
export function layRows(rows: readonly Row[], columns: number | undefined): readonly string[] {
  const subject = Math.min(SUBJECT_MAX, Math.max(0, ...rows.map((row) => row.subject.length)));
  const figures = Math.max(0, ...rows.map((row) => row.figures.length));
  const laid = rows.map((row) => ({
    head: `${row.at.padEnd(20)} ${row.outcome.padEnd(OUTCOME_WIDTH)} ${row.subject.padEnd(subject)} ${row.figures.padStart(figures)}`.trimEnd(),
    rest: row.rest,
  }));
  const head = Math.max(0, ...laid.map((row) => row.head.length));
  const fits = columns === undefined || laid.every((row) => head + 2 + row.rest.length <= columns);
  return laid.flatMap(({ head: line, rest }) => {
    if (rest === "") return [line];
    return fits ? [`${line.padEnd(Math.min(head, 80))}  ${rest}`] : [line, `  ${rest}`];
  });
}

function activityRow(entry: ActivityEntry): Row {
  switch (entry.kind) {
    case "gap":
      return row("", "GAP", `frame ${entry.frame}`, "", showText(entry.detail));
    case "call": {
      const took = entry.elapsed_ms === null ? "" : `${entry.elapsed_ms} ms`;
      const figures = `${entry.status === null ? "" : String(entry.status).padStart(3)} ${took.padStart(8)}`;
      const reason = entry.reason === null ? "" : ` (${showIdentifier(entry.reason)})`;
      const credential = entry.credential_label === null ? "" : ` with ${showIdentifier(entry.credential_label)}`;
      const channel = entry.channel === "ssh" ? "ssh " : "";
      const gap = entry.gap ? "  [gap before the result]" : "";
      const rest = `${name(entry.call_id)} → ${channel}${name(entry.target)}${credential}${reason}${gap}`;
      return row(entry.at, entry.outcome, name(entry.action), figures, rest);
    }
    case "reconciliation": {
      const how =
        entry.said === null
          ? `read from ${name(entry.source)}`
          : `as operator ${name(entry.source)} signed, where nothing else could tell: ${showText(entry.said)}`;
      const rest = `${name(entry.call_id)} is ${entry.outcome}, ${how}`;
      return row(entry.at, "reconciled", name(entry.action), "", rest);
    }
    case "denial": {
      const many = entry.count > 1 ? ` ${entry.count} times` : "";
      const reason = entry.reason === null ? "" : `: ${showText(entry.reason)}`;
      const rest = `${name(entry.call_id)} ${showIdentifier(entry.code)}${many}${reason}`;
      return row(entry.at, "denied", name(entry.action), "", rest);
    }
    case "operation": {
      const rest = `${name(entry.from)} → ${name(entry.to)} by ${name(entry.actor)}: ${showText(entry.cause)}`;
      return row(entry.at, "operation", name(entry.operation_id), "", rest);
    }
    case "preview":
      return row(entry.at, "preview", name(entry.action), "", previewWords(entry));
  }
}

function previewWords({ call_id, plan_id, event, outcome }: PreviewEntry): string {
  const words = [call_id, event, outcome, plan_id].filter((word) => word !== null);
  return words.map(showIdentifier).join(" ");
}

function sessionRow(entry: SessionEntry): Row {
  const { succeeded, failed, unknown, denied } = entry.calls;
  const calls = `${succeeded} succeeded, ${failed} failed, ${unknown} unknown, ${denied} denied`;
  const approved = entry.approved_by === null ? "nobody approved" : `approved by ${showIdentifier(entry.approved_by)}`;
  const end = entry.end_reason === null ? "" : `, ended ${entry.ended_at ?? ""}: ${showIdentifier(entry.end_reason)}`;
  const gap = entry.gap ? "  [the gateway stopped in between]" : "";
  const who = name(entry.authority ?? entry.caller);
  const run = entry.session_id === null ? "" : `${name(entry.run_id)}, `;
  const rest = `${run}${who}${sayPurpose(entry.purpose)}; ${approved}${end}; ${calls}${gap}`;
  return row(entry.started_at, entry.state, name(entry.session_id ?? entry.run_id), "", rest);
}

/** What the agent said it is for: its words, and nobody checked them. */
function sayPurpose(purpose: string | null): string {
  return purpose === null || purpose === "" ? "" : ` says ${quote(purpose)}`;
}

/** To the second: the record has the rest. */
function row(at: string, outcome: string, subject: string, figures: string, rest: string): Row {
  return { at: at.replace(/\.\d+Z$/, "Z"), outcome: showIdentifier(outcome), subject, figures, rest };
}

function name(text: string | null): string {
  return text === null || text === "" ? "-" : showIdentifier(text);
}

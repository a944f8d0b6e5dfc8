import type { ActivityEntry } from "../../../audit/journals/activity-entry.ts";
import type { SessionsEntry } from "../../../audit/journals/sessions.ts";
import { operationStates } from "../../../conventions/operation/state.ts";
import { Misused } from "../misused.ts";
import { readTime } from "./read-time.ts";

export type JournalName = "activity" | "sessions";
export type JournalEntry = ActivityEntry | SessionsEntry;
type Told = Exclude<JournalEntry, { kind: "gap" }>;

/** What a person asked to see, as they typed it. */
export interface FilterWords {
  readonly run?: string;
  readonly caller?: string;
  readonly action?: string;
  readonly outcome?: string;
  readonly since?: string;
  readonly until?: string;
  readonly previews?: boolean;
}

const OUTCOMES: Readonly<Record<JournalName, readonly string[]>> = {
  activity: [
    ...new Set([
      "succeeded",
      "failed",
      "unknown",
      "denied",
      "pending",
      "not_attempted",
      "accepted",
      ...operationStates,
    ]),
  ],
  sessions: ["live", "ended", "refused"],
};

/** Refuses a value that no entry could ever have. A gap is shown whatever is filtered: it may hide what was asked for. */
export function readFilter(journal: JournalName, words: FilterWords, wallMs: number): (entry: JournalEntry) => boolean {
  const { run, caller, action, outcome } = words;
  if (outcome !== undefined && !OUTCOMES[journal].includes(outcome)) {
    throw new Misused(`--outcome is one of ${OUTCOMES[journal].join(", ")}.`);
  }
  const since = words.since === undefined ? Number.NEGATIVE_INFINITY : readTime("--since", words.since, wallMs);
  const until = words.until === undefined ? Number.POSITIVE_INFINITY : readTime("--until", words.until, wallMs);
  if (since >= until) throw new Misused("--since has to be before --until; nothing lies between them.");
  return (entry) => {
    if (entry.kind === "gap") return true;
    if (entry.kind === "preview" && words.previews !== true) return false;
    const at = Date.parse(entry.kind === "session" ? entry.started_at : entry.at);
    if (at < since || at >= until) return false;
    if (run !== undefined && entry.run_id !== run) return false;
    if (caller !== undefined && !("caller" in entry && (entry.caller ?? "").includes(caller))) return false;
    if (action !== undefined && !actionsOf(entry).includes(action)) return false;
    return outcome === undefined || outcomeOf(entry) === outcome;
  };
}

function actionsOf(entry: Told): readonly string[] {
  if (entry.kind === "session") return entry.scope;
  return "action" in entry && entry.action !== null ? [entry.action] : [];
}

function outcomeOf(entry: Told): string | null {
  switch (entry.kind) {
    case "session":
      return entry.state;
    case "denial":
      return "denied";
    case "operation":
      return entry.to;
    case "call":
    case "reconciliation":
    case "preview":
      return entry.outcome;
  }
}

import type { KeyObject } from "node:crypto";
import { startActivity } from "../../../audit/journals/activity.ts";
import type { ActivityEntry } from "../../../audit/journals/activity-entry.ts";
import { type SessionsEntry, startSessions } from "../../../audit/journals/sessions.ts";
import { type LogItem, openReader } from "../../../audit/read/reader.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { activityLine, sessionLine } from "./lines.ts";

export interface JournalOptions {
  readonly log: string;
  readonly run?: string;
  readonly caller?: string;
  readonly action?: string;
  readonly outcome?: string;
  /** ISO 8601 times: entries from `since` on, before `until`. */
  readonly since?: string;
  readonly until?: string;
  readonly previews?: boolean;
  readonly json?: boolean;
  readonly follow?: boolean;
}

/** How a journal that is followed waits for more, and is told to stop. */
export interface FollowPorts {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  readonly signal?: AbortSignal;
}

const FOLLOW_MS = 250;

type Entry = ActivityEntry | SessionsEntry;

interface Fold {
  add(item: LogItem): readonly Entry[];
  rest(): readonly Entry[];
}

/** `gw sessions`: one line a session, decrypted in this process. */
export function runSessions(
  options: JournalOptions,
  readingKey: KeyObject,
  io: CliIo,
  ports: FollowPorts,
): Promise<Exit> {
  return printJournal(startSessions(), options, readingKey, io, ports);
}

/** `gw activity`: one line a call. */
export function runActivity(
  options: JournalOptions,
  readingKey: KeyObject,
  io: CliIo,
  ports: FollowPorts,
): Promise<Exit> {
  return printJournal(startActivity(), options, readingKey, io, ports);
}

async function printJournal(
  fold: Fold,
  options: JournalOptions,
  readingKey: KeyObject,
  io: CliIo,
  ports: FollowPorts,
): Promise<Exit> {
  const reader = openReader(options.log, readingKey);
  const wanted = filterOf(options);
  const print = printerOf(options, io);
  let gaps = 0;
  const show = (entries: readonly Entry[]): void => {
    for (const entry of entries) {
      if (entry.kind === "gap") gaps++;
      if (wanted(entry)) print.entry(entry);
    }
  };
  try {
    for (;;) {
      for (let items = reader.next(); items !== undefined; items = reader.next()) {
        for (const item of items) show(fold.add(item));
        if (ports.signal?.aborted === true) break;
      }
      if (options.follow !== true || ports.signal?.aborted === true) break;
      await ports.sleep(FOLLOW_MS, ports.signal);
    }
    show(fold.rest());
    print.end();
  } finally {
    reader.close();
  }
  return gaps > 0 ? exits.denied : exits.done;
}

/** A gap is shown whatever is filtered: it may hide what was asked for. */
function filterOf(options: JournalOptions): (entry: Entry) => boolean {
  const { run, caller, action, outcome, since, until } = options;
  return (entry) => {
    if (entry.kind === "gap") return true;
    if (entry.kind === "preview" && options.previews !== true) return false;
    const at = entry.kind === "session" ? entry.started_at : entry.at;
    if (since !== undefined && at < since) return false;
    if (until !== undefined && at >= until) return false;
    if (run !== undefined && entry.run_id !== run) return false;
    if (caller !== undefined && !("caller" in entry && (entry.caller ?? "").includes(caller))) return false;
    if (action !== undefined && !actionsOf(entry).includes(action)) return false;
    return outcome === undefined || outcomeOf(entry) === outcome;
  };
}

function actionsOf(entry: Exclude<Entry, { kind: "gap" }>): readonly string[] {
  if (entry.kind === "session") return entry.scope;
  return "action" in entry && entry.action !== null ? [entry.action] : [];
}

function outcomeOf(entry: Exclude<Entry, { kind: "gap" }>): string | null {
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

function printerOf(options: JournalOptions, io: CliIo): { entry(entry: Entry): void; end(): void } {
  if (options.json !== true) {
    return {
      entry: (entry) => io.out(entry.kind === "session" ? sessionLine(entry) : activityLine(entry)),
      end: () => undefined,
    };
  }
  // A list that ends is one array; one that is followed has no end, so it is a record a line.
  if (options.follow === true) return { entry: (entry) => io.out(JSON.stringify(entry)), end: () => undefined };
  let before = "[";
  return {
    entry(entry) {
      io.out(before + JSON.stringify(entry));
      before = ",";
    },
    end: () => io.out(before === "[" ? "[]" : "]"),
  };
}

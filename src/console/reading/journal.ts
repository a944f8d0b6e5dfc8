import type { KeyObject } from "node:crypto";
import { type ActivityFold, startActivity } from "../audit/journals/activity.ts";
import type { ActivityEntry } from "../audit/journals/activity-entry.ts";
import { fromNewest, openReader } from "../audit/read/reader.ts";
import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import type { JsonObject } from "../kernel/json.ts";

/** What a page asks of the Activity journal. */
export interface Wanted {
  readonly text: string;
  readonly outcome: string;
  /** Of what an entry says by this name; nothing where it is empty. */
  readonly fields: Readonly<Record<FieldName, string>>;
  /** ISO times, or empty. */
  readonly since: string;
  readonly until: string;
  readonly offset: number;
  readonly limit: number;
  /** Reads further back than before. */
  readonly older: boolean;
}

/** What a page can filter by, one by one. */
export const FIELDS = { action: "action", run: "run_id", caller: "caller", credential: "credential_label" } as const;
export type FieldName = keyof typeof FIELDS;

/** How many frames are opened before other work of the console gets its turn. */
const TURN_ITEMS = 64;
const WINDOW_GROWS = 8;

/**
 * The Activity journal, opened in this process with the operator's reading key. It begins at the end of the log, follows what is
 * written, and goes further back when somebody asks.
 */
export function createJournal(log: string, readingKey: KeyObject) {
  let bytes: number = defaults.journalWindowBytes;
  let opened: Opened | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let items = 0;
  let fitting: { readonly key: string; readonly rows: readonly Found[]; readonly read: number } | null = null;

  async function catchUp(older: boolean): Promise<Opened> {
    if (opened !== null && older && !opened.whole) {
      opened.reader.close();
      opened = null;
      bytes *= WINDOW_GROWS;
    }
    opened ??= open(bytes);
    const { reader, fold, settled } = opened;
    let count = 0;
    for (let next = reader.next(); next !== undefined; next = reader.next()) {
      for (const item of next) settled.push(...fold.add(item).map(found));
      items += next.length;
      if (++count % TURN_ITEMS === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return opened;
  }

  function open(window: number): Opened {
    const from = fromNewest(log, window);
    return {
      reader: openReader(log, readingKey, ...(from === undefined ? [] : ([from] as const))),
      fold: startActivity(),
      settled: [],
      whole: from === undefined,
    };
  }

  return {
    /** The newest first, as far as the page can see. */
    async list(wanted: Wanted): Promise<JsonObject> {
      const mine = turn.then(() => catchUp(wanted.older));
      turn = mine.catch(() => undefined);
      const { settled, fold, whole } = await mine;
      const { offset, limit, older: _older, ...filter } = wanted;
      // Scrolling asks for the same again and again: what fits is worked out once for each state of the log.
      const key = JSON.stringify([filter, settled.length, items]);
      if (fitting?.key !== key) {
        const all = [...settled, ...fold.rest().map(found)];
        const rows = all.filter((one) => fits(one, wanted)).sort((a, b) => b.entry.frame - a.entry.frame);
        fitting = { key, rows, read: all.length };
      }
      const rows: readonly ActivityEntry[] = fitting.rows.slice(offset, offset + limit).map(({ entry }) => entry);
      return { rows: rows as never, matching: fitting.rows.length, read: fitting.read, whole };
    },
    close: () => opened?.reader.close(),
  };
}

/** From the page's own query; whatever is odd is taken as nothing. */
export function readWanted(query: URLSearchParams): Wanted {
  const text = (name: string): string => (query.get(name) ?? "").slice(0, 200);
  const number = (name: string, max: number): number =>
    Math.max(0, Math.min(max, Math.floor(Number(query.get(name) ?? 0)) || 0));
  const time = (name: string): string => {
    const ms = Date.parse(text(name));
    return Number.isNaN(ms) ? "" : isoTime(ms);
  };
  return {
    ...{ text: text("q"), outcome: text("outcome"), since: time("since"), until: time("until") },
    fields: { action: text("action"), run: text("run"), caller: text("caller"), credential: text("credential") },
    offset: number("offset", 10_000_000),
    limit: number("limit", EXPORT_ROWS) || 100,
    older: query.get("older") === "1",
  };
}

/** What one answer holds at most: a page asks for a hundred rows, an export for all that fit. */
const EXPORT_ROWS = 20_000;

interface Opened {
  readonly reader: ReturnType<typeof openReader>;
  readonly fold: ActivityFold;
  readonly settled: Found[];
  readonly whole: boolean;
}

interface Found {
  readonly entry: ActivityEntry;
  /** Everything that it says, for the search. */
  readonly words: string;
}

function found(entry: ActivityEntry): Found {
  const said = Object.values(entry).filter((value) => typeof value === "string");
  return { entry, words: said.join("\n").toLowerCase() };
}

function fits({ entry, words }: Found, { text, outcome, fields, since, until }: Wanted): boolean {
  if (text !== "" && !words.includes(text.toLowerCase())) return false;
  if (outcome !== "" && outcomeOf(entry) !== outcome) return false;
  const said = entry as unknown as Readonly<Record<string, unknown>>;
  for (const [name, member] of Object.entries(FIELDS)) {
    const wanted = fields[name as FieldName].toLowerCase();
    if (
      wanted !== "" &&
      !String(said[member] ?? "")
        .toLowerCase()
        .includes(wanted)
    )
      return false;
  }
  const at = "at" in entry ? entry.at : null;
  return (since === "" || (at !== null && at >= since)) && (until === "" || (at !== null && at < until));
}

function outcomeOf(entry: ActivityEntry): string {
  return entry.kind === "call" || entry.kind === "reconciliation" ? entry.outcome : entry.kind;
}

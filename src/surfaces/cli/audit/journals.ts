import type { KeyObject } from "node:crypto";
import { startActivity } from "../../../audit/journals/activity.ts";
import { startSessions } from "../../../audit/journals/sessions.ts";
import { fromNewest, type ReadFrom } from "../../../audit/read/place.ts";
import { type LogItem, openReader } from "../../../audit/read/reader.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { Misused } from "../misused.ts";
import { sayProse } from "../say-prose.ts";
import { type FilterWords, type JournalEntry, type JournalName, readFilter } from "./filter.ts";
import { layRows, rowOf } from "./lines.ts";

export interface JournalOptions extends FilterWords {
  readonly log: string;
  /** How many of the newest; a number, or `all`. */
  readonly limit?: string;
  readonly json?: boolean;
  readonly follow?: boolean;
}

/** How a journal that is followed waits for more, and is told to stop. */
export interface FollowPorts {
  wallMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  readonly signal?: AbortSignal;
  /** How much of the log's end is read first for the newest rows. */
  readonly windowBytes?: number;
}

const FOLLOW_MS = 250;
/** By how much more of the log is read each time when it was too little. */
const WINDOW_GROWS = 8;

interface Fold {
  add(item: LogItem): readonly JournalEntry[];
  rest(): readonly JournalEntry[];
}

interface Printer {
  entry(entry: JournalEntry): void;
  /** Whether what was read is all that is needed of the log, where not all of it was read. */
  isEnough(): boolean;
  end(read: number, all: boolean): void;
}

/** `gw activity`, one row a call, and `gw sessions`, one a session; decrypted in this process. */
export type Journal = (readingKey: KeyObject) => Promise<Exit>;

/** What was asked is read first, so that nobody types a passphrase for a word that means nothing. */
export function readJournal(journal: JournalName, options: JournalOptions, io: CliIo, ports: FollowPorts): Journal {
  const wanted = readFilter(journal, options, ports.wallMs());
  const limit = limitOf(options);
  const { windowBytes = defaults.journalRowsBytes } = ports;
  // A session may have begun at any time before; a call stands where its intent does.
  const newest = journal === "activity" && options.follow !== true && limit < Number.POSITIVE_INFINITY;
  return async (readingKey) => {
    for (let bytes = newest ? windowBytes : Number.POSITIVE_INFINITY; ; bytes *= WINDOW_GROWS) {
      const from = fromNewest(options.log, bytes);
      const print = printerOf(options, limit, io);
      const { read, gaps } = await readFrom(from, print, readingKey);
      if (from !== undefined && !print.isEnough()) continue;
      print.end(read, from === undefined);
      return gaps > 0 ? exits.denied : exits.done;
    }
  };

  async function readFrom(from: ReadFrom | undefined, print: Printer, readingKey: KeyObject) {
    const fold: Fold = journal === "activity" ? startActivity() : startSessions();
    const reader = openReader(options.log, readingKey, from);
    let gaps = 0;
    let read = 0;
    const show = (entries: readonly JournalEntry[]): void => {
      for (const entry of entries) {
        // A result of an intent that stands before what is read: older than all that is shown.
        if (from !== undefined && entry.kind === "call" && entry.intent_event_id === null) continue;
        if (entry.kind === "gap") gaps++;
        else read++;
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
      return { read, gaps };
    } finally {
      reader.close();
    }
  }
}

/** People see what fits a screen unless they ask for more; programs get all of it. */
function limitOf({ limit, json, follow }: JournalOptions): number {
  if (limit === undefined) return json === true ? Number.POSITIVE_INFINITY : defaults.journalRows;
  if (follow === true) throw new Misused("--limit and --follow: what is followed has no end.");
  if (limit === "all") return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(limit)) return Number(limit);
  throw new Misused("--limit is how many to show, 1 or more, or all.");
}

function printerOf(options: JournalOptions, limit: number, io: CliIo): Printer {
  if (options.follow === true) {
    const linesOf = (entry: JournalEntry): readonly string[] =>
      options.json === true ? [JSON.stringify(entry)] : layRows([rowOf(entry)], io.columns);
    const print = (entry: JournalEntry): void => {
      for (const line of linesOf(entry)) io.out(line);
    };
    return { entry: print, isEnough: () => true, end: () => undefined };
  }
  return options.json === true ? recordPrinter(limit, io) : rowPrinter(limit, io);
}

/** The newest first: that is what somebody who looks now wants to know. */
function rowPrinter(limit: number, io: CliIo): Printer {
  const newest = keepNewest(limit);
  return {
    entry: newest.add,
    isEnough: newest.isEnough,
    end(read, all) {
      const { entries, older, gaps } = newest.take();
      for (const line of layRows([...entries].reverse().map(rowOf), io.columns)) sayProse(io, line, 4);
      if (!all) io.err("Older ones were not read: --limit N, or --limit all.");
      else if (older > 0) io.err(`${older} older not shown: --limit N, or --limit all.`);
      if (gaps > 0) io.err(`${gaps} of them are GAPS, where the log is not whole for you: gw audit verify.`);
      if (entries.length > 0) return;
      io.err(read === 0 ? "Nothing is on record yet." : `Nothing matches; ${read} on record without the filter.`);
    },
  };
}

/** In the order of the log. All of it goes out as it is read; only a limit has to be waited for. */
function recordPrinter(limit: number, io: CliIo): Printer {
  let before = "[";
  const out = (entry: JournalEntry): void => {
    io.out(before + JSON.stringify(entry));
    before = ",";
  };
  const newest = keepNewest(limit);
  return {
    entry: limit === Number.POSITIVE_INFINITY ? out : newest.add,
    isEnough: newest.isEnough,
    end() {
      for (const entry of newest.take().entries) out(entry);
      io.out(before === "[" ? "[]" : "]");
    },
  };
}

/** As many of the newest as wanted, and no more in memory than twice that: calls come in the order in which they end. */
function keepNewest(limit: number) {
  let kept: JournalEntry[] = [];
  let older = 0;
  let gaps = 0;
  const trim = (): void => {
    kept.sort((a, b) => a.frame - b.frame);
    const cut = Math.max(0, kept.length - limit);
    older += cut;
    for (const entry of kept.slice(0, cut)) if (entry.kind === "gap") gaps++;
    kept = kept.slice(cut);
  };
  return {
    add(entry: JournalEntry): void {
      kept.push(entry);
      if (kept.length > limit * 2) trim();
    },
    take() {
      trim();
      return { entries: kept, older, gaps };
    },
    /** A reconciliation that does not know its call yet needs more of what came before. */
    isEnough(): boolean {
      trim();
      return kept.length >= limit && !kept.some((entry) => entry.kind === "reconciliation" && entry.action === null);
    },
  };
}

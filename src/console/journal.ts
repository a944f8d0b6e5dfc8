import type { KeyObject } from "node:crypto";
import { type ActivityFold, startActivity } from "../audit/journals/activity.ts";
import type { ActivityEntry } from "../audit/journals/activity-entry.ts";
import { fromNewest, openReader } from "../audit/read/reader.ts";
import { defaults } from "../kernel/defaults.ts";
import type { JsonObject } from "../kernel/json.ts";

/** What a page asks of the Activity journal. */
export interface Wanted {
  readonly text: string;
  readonly outcome: string;
  readonly offset: number;
  readonly limit: number;
  /** Reads further back than before. */
  readonly older: boolean;
}

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

  async function catchUp(older: boolean): Promise<Opened> {
    if (opened !== null && older && !opened.whole) {
      opened.reader.close();
      opened = null;
      bytes *= WINDOW_GROWS;
    }
    opened ??= open(bytes);
    const { reader, fold, settled } = opened;
    let count = 0;
    for (let items = reader.next(); items !== undefined; items = reader.next()) {
      for (const item of items) settled.push(...fold.add(item).map(found));
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
    async list({ text, outcome, offset, limit, older }: Wanted): Promise<JsonObject> {
      const mine = turn.then(() => catchUp(older));
      turn = mine.catch(() => undefined);
      const { settled, fold, whole } = await mine;
      const all = [...settled, ...fold.rest().map(found)];
      const words = text.toLowerCase();
      const fits = all.filter(
        ({ entry, words: said }) =>
          (words === "" || said.includes(words)) && (outcome === "" || outcomeOf(entry) === outcome),
      );
      const rows: readonly ActivityEntry[] = fits
        .sort((a, b) => b.entry.frame - a.entry.frame)
        .slice(offset, offset + limit)
        .map(({ entry }) => entry);
      return { rows: rows as never, matching: fits.length, read: all.length, whole };
    },
    close: () => opened?.reader.close(),
  };
}

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

function outcomeOf(entry: ActivityEntry): string {
  return entry.kind === "call" || entry.kind === "reconciliation" ? entry.outcome : entry.kind;
}

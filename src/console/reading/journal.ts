import type { KeyObject } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { segmentName } from "../../audit/frame/layout.ts";
import { type ActivityFold, startActivity } from "../../audit/journals/activity.ts";
import type { ActivityEntry } from "../../audit/journals/activity-entry.ts";
import { fromNewest, type ReadFrom } from "../../audit/read/place.ts";
import { type LogReader, openReader } from "../../audit/read/reader.ts";
import { defaults } from "../../kernel/defaults.ts";
import { type Beside, startBeside } from "./beside.ts";
import { type ChartFold, type Charts, startCharts } from "./charts.ts";
import { FIELDS, type FieldName, type Wanted } from "./wanted.ts";

/** A log, and whose it is where there are several. */
export interface LogPlace {
  readonly gateway: string | null;
  readonly folder: string;
}

/** An entry, and whose log it stands in where there are several. */
export type ShownEntry = ActivityEntry & { readonly gateway?: string };

/** What one answer to the Activity screen holds. */
export interface ActivityAnswer {
  readonly rows: readonly ShownEntry[];
  readonly matching: number;
  readonly read: number;
  readonly whole: boolean;
  /** Whether the texts of all of them were searched. */
  readonly texts: boolean;
  /** While an older part is being opened: how far that is. The rows are those of the part before. */
  /** Of a hub: the logs that are not shown, and why. */
  readonly wrong?: readonly { readonly gateway: string; readonly words: string }[];
  readonly reading: { readonly done: number; readonly total: number } | null;
}

/** Frames that one answer opens of an older part: a page asks again, and other questions get their turn. */
const TURN_FRAMES = 4_000;
const WINDOW_GROWS = 8;

/**
 * The Activity journal, opened with the operator's reading key. It begins at the end of the log, follows what is
 * written, and goes further back when somebody asks.
 */
export interface OneJournal {
  /** All that fits, the newest first. */
  list(wanted: Wanted): Listed;
  charts(): Charts;
}

export interface Listed extends Omit<ActivityAnswer, "rows" | "matching"> {
  readonly rows: readonly Found[];
}

export function createJournal({ folder: log, gateway }: LogPlace, readingKey: KeyObject): OneJournal {
  let bytes: number = defaults.journalWindowBytes;
  let opened: Opened | null = null;
  let larger: Opened | null = null;
  let fitting: { readonly key: string; readonly rows: readonly Found[]; readonly read: number } | null = null;

  function open(window: number): Opened {
    const from = fromNewest(log, window);
    return {
      from,
      reader: openReader(log, readingKey, ...(from === undefined ? [] : ([from] as const))),
      fold: startActivity(),
      charts: startCharts(),
      beside: startBeside(),
      settled: [],
      items: 0,
    };
  }

  /** True once there is nothing left to read for now. */
  function readOn(part: Opened, frames: number): boolean {
    for (let count = 0; count < frames; count++) {
      const next = part.reader.next();
      if (next === undefined) return true;
      for (const item of next) {
        for (const entry of part.fold.add(item)) part.settled.push(found(entry, gateway));
        part.charts.add(item);
        part.beside.add(item);
      }
      part.items += next.length;
    }
    return false;
  }

  /** What can be shown now. The older part takes its place when it is read to its end. */
  function stand(older: boolean): Opened {
    if (opened === null) {
      opened = open(bytes);
      readOn(opened, Number.POSITIVE_INFINITY);
    }
    if (older && larger === null && opened.from !== undefined) {
      bytes *= WINDOW_GROWS;
      larger = open(bytes);
    }
    if (larger !== null && readOn(larger, TURN_FRAMES)) {
      opened.reader.close();
      opened = larger;
      larger = null;
    }
    readOn(opened, Number.POSITIVE_INFINITY);
    return opened;
  }

  return {
    list(wanted) {
      const part = stand(wanted.older);
      const { offset: _offset, limit: _limit, older: _older, ...filter } = wanted;
      // Scrolling asks for the same again and again: what fits is worked out once for each state of the log.
      const key = JSON.stringify([filter, part.from ?? null, part.items]);
      if (fitting?.key !== key) {
        const all = [...part.settled, ...part.fold.rest().map((entry) => found(entry, gateway))];
        const rows = all.filter(fitsOf(wanted, part.beside)).sort((a, b) => b.entry.frame - a.entry.frame);
        fitting = { key, rows, read: all.length };
      }
      return {
        rows: fitting.rows,
        read: fitting.read,
        whole: part.from === undefined,
        texts: part.beside.isWhole(),
        reading: larger === null ? null : progressOf(log, larger),
      };
    },
    charts() {
      const part = stand(false);
      return { ...part.charts.tell(), whole: part.from === undefined };
    },
  };
}

interface Opened {
  readonly from: ReadFrom | undefined;
  readonly reader: LogReader;
  readonly fold: ActivityFold;
  readonly charts: ChartFold;
  readonly beside: Beside;
  readonly settled: Found[];
  items: number;
}

/** In bytes of the log; what is written meanwhile counts as well. */
function progressOf(log: string, { from, reader }: Opened): { done: number; total: number } {
  const at = reader.at();
  let done = 0;
  let total = 0;
  for (let segment = from?.segment ?? 1; ; segment++) {
    const size = sizeOf(join(log, segmentName(segment)));
    if (size === null && segment > (at?.segment ?? 1)) break;
    const begins = segment === from?.segment ? from.offset : 0;
    total += Math.max(0, (size ?? 0) - begins);
    if (at !== undefined && segment < at.segment) done += Math.max(0, (size ?? 0) - begins);
    if (segment === at?.segment) done += Math.max(0, at.offset - begins);
  }
  return { done: Math.min(done, total), total };
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

export interface Found {
  readonly entry: ShownEntry;
  /** Everything that it says, for the search. */
  readonly words: string;
}

function found(entry: ActivityEntry, gateway: string | null): Found {
  const said = Object.values(entry).filter((value) => typeof value === "string");
  return { entry: gateway === null ? entry : { ...entry, gateway }, words: said.join("\n").toLowerCase() };
}

function fitsOf(wanted: Wanted, beside: Beside): (found: Found) => boolean {
  const text = wanted.text.toLowerCase();
  const says = text === "" ? null : beside.saying(text);
  const isBy = wanted.operator === "" ? null : beside.by(wanted.operator.toLowerCase());
  return (one) =>
    (says === null || one.words.includes(text) || says(one.entry)) &&
    (isBy === null || isBy(one.entry)) &&
    fits(one.entry, wanted);
}

function fits(entry: ActivityEntry, { outcome, fields, since, until }: Wanted): boolean {
  if (outcome !== "" && outcomeOf(entry) !== outcome) return false;
  const said = entry as unknown as Readonly<Record<string, unknown>>;
  const names = Object.keys(FIELDS) as FieldName[];
  const says = (name: FieldName): string => String(said[FIELDS[name]] ?? "").toLowerCase();
  if (!names.every((name) => fields[name] === "" || says(name).includes(fields[name].toLowerCase()))) return false;
  const at = "at" in entry ? entry.at : null;
  return (since === "" || (at !== null && at >= since)) && (until === "" || (at !== null && at < until));
}

function outcomeOf(entry: ActivityEntry): string {
  return entry.kind === "call" || entry.kind === "reconciliation" ? entry.outcome : entry.kind;
}

import type { KeyObject } from "node:crypto";
import { type Charts, mergeCharts } from "./charts.ts";
import {
  type ActivityAnswer,
  createJournal,
  type Found,
  type Listed,
  type LogPlace,
  type OneJournal,
} from "./journal.ts";
import type { Wanted } from "./wanted.ts";

/** The journals of all logs that there are, as one. */
export interface Journals {
  list(wanted: Wanted, logs: readonly LogPlace[]): ActivityAnswer;
  charts(logs: readonly LogPlace[]): Charts;
}

export function createJournals(readingKey: KeyObject): Journals {
  const opened = new Map<string, OneJournal>();
  /** What one of several could not be read for stays so: nobody knows how far it came. */
  const broken = new Map<string, Listed>();
  let merged: { readonly of: readonly (readonly Found[])[]; readonly rows: readonly Found[] } | null = null;

  function journalOf(place: LogPlace): OneJournal {
    const journal = opened.get(place.folder) ?? createJournal(place, readingKey);
    opened.set(place.folder, journal);
    return journal;
  }

  /** One of several may be of a host that somebody owns: where it cannot be read, the others are. */
  function ask<Answer>(place: LogPlace, work: (journal: OneJournal) => Answer): Answer | undefined {
    if (place.gateway === null) return work(journalOf(place));
    if (broken.has(place.folder)) return undefined;
    try {
      return work(journalOf(place));
    } catch {
      const entry = { kind: "gap", frame: 0, detail: "this log cannot be read", gateway: place.gateway } as const;
      broken.set(place.folder, {
        ...{ rows: [{ entry, words: entry.detail }], read: 1, whole: true, texts: true, reading: null },
      });
      return undefined;
    }
  }

  /** Scrolling asks for the same again and again: put in order once for each state of the logs. */
  function inOrder(lists: readonly Listed[]): readonly Found[] {
    const of = lists.map(({ rows }) => rows);
    const [only] = of;
    if (of.length === 1 && only !== undefined) return only;
    if (merged === null || merged.of.length !== of.length || merged.of.some((rows, at) => rows !== of[at]))
      merged = { of, rows: of.flat().sort((one, other) => (atOf(one) < atOf(other) ? 1 : -1)) };
    return merged.rows;
  }

  return {
    list(wanted, logs) {
      const lists = logs.flatMap(
        (place) => ask(place, (journal) => journal.list(wanted)) ?? broken.get(place.folder) ?? [],
      );
      const rows = inOrder(lists);
      const { offset, limit } = wanted;
      const reading = lists.flatMap((one) => one.reading ?? []);
      const sum = (name: "done" | "total"): number => reading.reduce((all, one) => all + one[name], 0);
      return {
        rows: rows.slice(offset, offset + limit).map(({ entry }) => entry),
        matching: rows.length,
        read: lists.reduce((all, { read }) => all + read, 0),
        whole: lists.every(({ whole }) => whole),
        texts: lists.every(({ texts }) => texts),
        reading: reading.length === 0 ? null : { done: sum("done"), total: sum("total") },
      };
    },
    charts: (logs) => mergeCharts(logs.flatMap((place) => ask(place, (journal) => journal.charts()) ?? [])),
  };
}

function atOf({ entry }: Found): string {
  return "at" in entry ? (entry.at ?? "") : "";
}

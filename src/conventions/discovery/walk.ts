/**
 * Bounded discovery: a list is read page by page until it ends or the first ceiling is hit. The provider is not believed:
 * it may repeat itself, point elsewhere or never end, and the walk still stops, says why and what was not looked at.
 */
import { type Digest, digestText } from "../../kernel/canonical-json.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { PageFault, PageReading } from "./read-page.ts";

export interface WalkLimits {
  readonly pages: number;
  readonly records: number;
  /** Of all answered bodies together: what is collected stays bounded however large a page is. */
  readonly bytes: number;
}

export interface Walk {
  readonly limits: WalkLimits;
  /** Pages whose records were taken. */
  readonly pages: number;
  /** What the provider sent, before the record ceiling cut it. */
  readonly received: number;
  readonly bytes: number;
  /** At most `limits.records`. */
  readonly records: readonly JsonValue[];
  /** The last way on that the provider named. */
  readonly cursor: string | null;
  /** Digests of every cursor so far, but for that of a page that was cut: the page is read again, and names it again. */
  readonly seen: ReadonlySet<Digest>;
}

export type CeilingStop = "page_ceiling" | "record_ceiling" | "size_ceiling";
export type WalkStop = "end_of_list" | CeilingStop | "cursor_repeated" | PageFault;

export type WalkStep =
  | { readonly kind: "next"; readonly walk: Walk; readonly cursor: string }
  | { readonly kind: "stop"; readonly walk: Walk; readonly reason: WalkStop };

export function startWalk(limits: WalkLimits, seen: ReadonlySet<Digest> = new Set()): Walk {
  return { limits, pages: 0, received: 0, bytes: 0, records: [], cursor: null, seen };
}

/** Decides after every page, on the first rule that applies. */
export function takePage(before: Walk, reading: PageReading, bytes: number): WalkStep {
  const { limits } = before;
  if (reading.kind === "fault" && reading.records === null) {
    return { kind: "stop", walk: before, reason: reading.fault };
  }
  const taken = reading.records ?? [];
  const room = Math.max(0, limits.records - before.records.length);
  const cursor = reading.kind === "page" ? reading.cursor : null;
  const received = before.received + taken.length;
  const isCut = received > limits.records;
  const walk: Walk = {
    ...before,
    pages: before.pages + 1,
    received,
    bytes: before.bytes + bytes,
    records: [...before.records, ...taken.slice(0, room)],
    cursor: cursor ?? before.cursor,
    seen: cursor === null || isCut ? before.seen : new Set([...before.seen, digestText(cursor)]),
  };
  const stop = (reason: WalkStop): WalkStep => ({ kind: "stop", walk, reason });
  if (isCut) return stop("record_ceiling");
  if (reading.kind === "fault") return stop(reading.fault);
  if (cursor === null) return { kind: "stop", walk: { ...walk, cursor: null }, reason: "end_of_list" };
  if (before.seen.has(digestText(cursor))) return stop("cursor_repeated");
  if (walk.received === limits.records) return stop("record_ceiling");
  if (walk.pages >= limits.pages) return stop("page_ceiling");
  if (walk.bytes >= limits.bytes) return stop("size_ceiling");
  return { kind: "next", walk, cursor };
}

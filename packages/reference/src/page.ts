import { type RawBuilder, sql } from "kysely";
import { digestJson } from "../../../src/kernel/canonical-json.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import type { Who } from "./context.ts";
import type { Core } from "./core.ts";
import { openText, sealText } from "./sealed-text.ts";

const CURSOR = "list cursor";

/** What a cursor is good for: the same list, asked by the same principal, with the same filter, order and fields. */
export interface PageQuery {
  readonly endpoint: string;
  readonly filter: JsonObject;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
}

export interface Place {
  readonly key: string | number;
  readonly id: string;
}

export function limitOf(query: PageQuery): number {
  return query.limit ?? defaults.pageSize;
}

/** Where the page before ended; undefined for the first page. */
export function readCursor(core: Core, who: Who, query: PageQuery): Place | undefined {
  if (query.cursor === undefined) return undefined;
  const opened = openText(core, CURSOR, query.cursor);
  if (opened === undefined || opened["bound"] !== boundTo(who, query)) {
    throw new Denied("cursor_invalid", "the cursor was not issued for this query", {
      errors: [{ code: "cursor_invalid", path: "/cursor", message: "belongs to another query" }],
    });
  }
  return { key: opened["key"] as string | number, id: String(opened["id"]) };
}

export function writeCursor(core: Core, who: Who, query: PageQuery, place: Place): string {
  return sealText(core, CURSOR, { key: place.key, id: place.id, bound: boundTo(who, query) });
}

function boundTo(who: Who, { endpoint, filter }: PageQuery): string {
  return digestJson({ endpoint, filter, principal: who.name });
}

/** One page: a row more than the limit is read, so that the end of a list needs no empty page. */
export function pageOf<Row>(
  core: Core,
  who: Who,
  query: PageQuery,
  rows: readonly Row[],
  placeOf: (row: Row) => Place,
  show: (row: Row) => JsonObject,
): { readonly data: readonly JsonObject[]; readonly next_cursor: string | null } {
  const kept = rows.slice(0, limitOf(query));
  const last = kept.at(-1);
  const more = rows.length > kept.length && last !== undefined;
  return { data: kept.map(show), next_cursor: more ? writeCursor(core, who, query, placeOf(last)) : null };
}

/** Only the members that were asked for; all of them when nobody said. */
export function selectFields(record: JsonObject, fields: readonly string[] | undefined): JsonObject {
  if (fields === undefined) return record;
  return Object.fromEntries(fields.map((name): [string, JsonValue] => [name, record[name] ?? null]));
}

export interface Order {
  readonly column: string;
  readonly descending: boolean;
}

/** `name` or `-name`, already admitted by the schema. */
export function readOrder(sort: string, columns: Readonly<Record<string, string>>): Order {
  const descending = sort.startsWith("-");
  return { column: columns[descending ? sort.slice(1) : sort] ?? "", descending };
}

/** Rows after a place in a stable order: the sort key, then the identifier. */
export function after(order: Order, idColumn: string, place: Place): RawBuilder<boolean> {
  const [key, id] = [sql.ref(order.column), sql.ref(idColumn)];
  return order.descending
    ? sql<boolean>`(${key}, ${id}) < (${place.key}, ${place.id})`
    : sql<boolean>`(${key}, ${id}) > (${place.key}, ${place.id})`;
}

import type { SQLInputValue } from "node:sqlite";
import type { Compilable, Insertable, Kysely } from "kysely";
import { queryWriter } from "./query-writer.ts";
import type { Tables } from "./tables.ts";

class Place {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Stands for every parameter while the query is written; `p.tenant` becomes the place where the tenant goes. */
const places: object = new Proxy({}, { get: (_target, name) => new Place(String(name)) });

/** A query that is asked on every request: compiled at its first use. Its shape must not depend on the values. */
export function prepared<Params extends Readonly<Record<string, SQLInputValue>>, Row>(
  build: (db: Kysely<Tables>, p: Params) => Compilable<Row>,
): (params: Params) => Compilable<Row> {
  let written: { readonly sql: string; readonly parameters: readonly unknown[] } | undefined;
  return (params) => {
    written ??= build(queryWriter, places as Params).compile();
    const { sql, parameters } = written;
    const values = parameters.map((value) => (value instanceof Place ? params[value.name] : value));
    return { compile: () => ({ sql, parameters: values }) } as unknown as Compilable<Row>;
  };
}

const inserts = new Map<string, string>();

/** One row into one table, with the columns that the row has. */
export function insertRow<Table extends keyof Tables>(table: Table, row: Insertable<Tables[Table]>): Compilable {
  const columns = Object.keys(row);
  const key = `${table} ${columns.join()}`;
  const sql = inserts.get(key) ?? queryWriter.insertInto(table).values(row).compile().sql;
  inserts.set(key, sql);
  return { compile: () => ({ sql, parameters: Object.values(row) }) } as unknown as Compilable;
}

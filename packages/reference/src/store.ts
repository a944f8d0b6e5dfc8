import type { SQLInputValue, StatementSync } from "node:sqlite";
import type { Compilable, Kysely } from "kysely";
import { migrate } from "../../../src/adapters/store/sqlite/migrate.ts";
import { openSqlite } from "../../../src/adapters/store/sqlite/open.ts";
import { Fault } from "../../../src/kernel/failure.ts";
import { queryWriter } from "./query-writer.ts";
import { migrations } from "./schema.ts";
import type { Tables } from "./tables.ts";

/**
 * Queries are written with Kysely and run at once on the calling thread, so that one IMMEDIATE transaction holds a whole
 * decision: what was read is what is written against, and no other request runs in between.
 */
export interface Store {
  readonly db: Kysely<Tables>;
  all<Row>(query: Compilable<Row>): readonly Row[];
  one<Row>(query: Compilable<Row>): Row | undefined;
  /** Returns how many rows changed. */
  run(query: Compilable): number;
  /** Everything in `work`, or nothing. Inside another `write` it joins that one. */
  write<Result>(work: () => Result): Result;
  close(): void;
}

export function openStore(path: string): Store {
  const file = openSqlite(path, { synchronous: "full" });
  try {
    migrate(file, migrations);
  } catch (error) {
    file.close();
    throw error;
  }
  const statements = new Map<string, StatementSync>();
  function prepare(sql: string): StatementSync {
    const held = statements.get(sql);
    if (held !== undefined) return held;
    const statement = file.handle.prepare(sql);
    // The provider's own queries are few; only lists vary with their filters, within a small number of shapes.
    if (statements.size > MOST_STATEMENTS) statements.clear();
    statements.set(sql, statement);
    return statement;
  }
  function all<Row>(query: Compilable<Row>): readonly Row[] {
    const { sql, parameters } = query.compile();
    return prepare(sql).all(...(parameters as readonly SQLInputValue[])) as Row[];
  }
  return {
    db: queryWriter,
    all,
    one(query) {
      const rows = all(query);
      if (rows.length > 1) throw new Fault("a query for one row found several");
      return rows[0];
    },
    run(query) {
      const { sql, parameters } = query.compile();
      return Number(prepare(sql).run(...(parameters as readonly SQLInputValue[])).changes);
    },
    write: (work) => (file.handle.isTransaction ? work() : file.immediate(work)),
    close: () => file.close(),
  };
}

const MOST_STATEMENTS = 512;

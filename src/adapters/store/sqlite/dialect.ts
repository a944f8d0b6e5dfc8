import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from "kysely";

/** Kysely over one `node:sqlite` handle. Queries run on the calling thread; whoever holds the connection holds it alone. */
export class NodeSqliteDialect implements Dialect {
  readonly #handle: DatabaseSync;
  readonly #statements: number;

  constructor(handle: DatabaseSync, statements: number) {
    this.#handle = handle;
    this.#statements = statements;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#handle, this.#statements);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new SqliteAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

class NodeSqliteDriver implements Driver {
  readonly #handle: DatabaseSync;
  readonly #connection: NodeSqliteConnection;
  /** Resolves when the holder before gives the connection back: a query never lands in somebody else's transaction. */
  #turn: Promise<void> = Promise.resolve();
  #endTurn: () => void = () => {};

  constructor(handle: DatabaseSync, statements: number) {
    this.#handle = handle;
    this.#connection = new NodeSqliteConnection(handle, statements);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    this.#endTurn = resolve;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    this.#endTurn();
  }

  /** IMMEDIATE takes the write lock at once: a transaction that reads first never fails halfway with SQLITE_BUSY. */
  async beginTransaction(_connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    this.#handle.exec(settings.accessMode === "read only" ? "BEGIN" : "BEGIN IMMEDIATE");
  }

  async commitTransaction(): Promise<void> {
    this.#handle.exec("COMMIT");
  }

  async rollbackTransaction(): Promise<void> {
    // SQLite rolls back by itself on some errors (disk full, for one); a second ROLLBACK would hide that error.
    if (this.#handle.isTransaction) this.#handle.exec("ROLLBACK");
  }

  async savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`SAVEPOINT ${quote(name)}`));
  }

  async rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`ROLLBACK TO ${quote(name)}`));
  }

  async releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`RELEASE ${quote(name)}`));
  }

  async destroy(): Promise<void> {
    if (this.#handle.isOpen) this.#handle.close();
  }
}

class NodeSqliteConnection implements DatabaseConnection {
  readonly #handle: DatabaseSync;
  readonly #keep: number;
  /** In order of last use: the first is dropped when there are too many. */
  readonly #statements = new Map<string, Prepared>();

  constructor(handle: DatabaseSync, statements: number) {
    this.#handle = handle;
    this.#keep = statements;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { statement, reads } = this.#prepare(query.sql);
    const parameters = query.parameters as readonly SQLInputValue[];
    if (reads) return { rows: statement.all(...parameters) as Row[] };
    const { changes, lastInsertRowid } = statement.run(...parameters);
    return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] };
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    // A statement of its own: the kept one could be run again while this one is still being read.
    const statement = this.#handle.prepare(query.sql);
    for (const row of statement.iterate(...(query.parameters as readonly SQLInputValue[])))
      yield { rows: [row as Row] };
  }

  #prepare(sql: string): Prepared {
    const held = this.#statements.get(sql);
    if (held !== undefined) {
      this.#statements.delete(sql);
      this.#statements.set(sql, held);
      return held;
    }
    const statement = this.#handle.prepare(sql);
    const prepared = { statement, reads: statement.columns().length > 0 };
    this.#statements.set(sql, prepared);
    const oldest = this.#statements.size > this.#keep ? this.#statements.keys().next().value : undefined;
    if (oldest !== undefined) this.#statements.delete(oldest);
    return prepared;
  }
}

interface Prepared {
  readonly statement: StatementSync;
  /** Has columns: a SELECT, a PRAGMA that answers, or a change with RETURNING. */
  readonly reads: boolean;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

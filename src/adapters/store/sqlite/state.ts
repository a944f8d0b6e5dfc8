import type { KeyObject } from "node:crypto";
import type { StatementSync } from "node:sqlite";
import type { StateRow, StateStore } from "../../../gateway/ports.ts";
import type { Random } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isDamagedDatabase } from "../../../kernel/file-trouble.ts";
import { openSqlite, type SqliteFile } from "./open.ts";
import { createRowMark } from "./row-mark.ts";
import { openRow, sealRow } from "./seal-row.ts";
import { stateMigrations, stateTables } from "./state-schema.ts";
import { upgradeState } from "./upgrade-state.ts";

type Table = StateRow["table"];

function nameOf(table: Table, id: string): string {
  return `${table} ${id}`;
}

const TAKEN_OVER = "Another gateway on this store took it over meanwhile. Nothing was written; look at it again.";

interface Waiting {
  readonly rows: readonly StateRow[];
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * The gateway's state in one SQLite file. Rows that wait in the same turn of the event loop share one transaction, and a
 * row written twice in it is written once. Only a commit that asks to survive a power cut pays for a flush.
 */
export interface SqliteStateStore extends StateStore {
  /**
   * How often rows were written, and up to which of these writes a power cut leaves them; null for a file without a mark.
   * Asked for every frame of the log, so it is what this process knows once `verify` has read it.
   */
  generation(): { readonly written: number; readonly durable: number } | null;
  /** Denied `state_tampered` where the rows are not those that were written last. */
  verify(): void;
  /** Denied `store_unreadable` where a page of the file is damaged. Reads all of it. */
  requireWhole(): void;
  /** Takes the rows as they are, and counts on from `from`. For a person's explicit word alone. */
  recount(from: number): Promise<void>;
  close(): Promise<void>;
}

export async function openStateStore(path: string, key: KeyObject, random: Random): Promise<SqliteStateStore> {
  try {
    const file = openSqlite(path, { synchronous: "normal" });
    try {
      upgradeState(file, path, stateMigrations);
      return startStore(file, path, key, random);
    } catch (error) {
      file.close();
      throw error;
    }
  } catch (error) {
    throw isDamaged(error) ? damaged(path) : error;
  }
}

function isDamaged(error: unknown): boolean {
  return isDamagedDatabase(error) || (error instanceof Denied && error.code === "store_unreadable");
}

/** In words that say what to do, where SQLite finds a page damaged. */
function nameDamage<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw isDamaged(error) ? damaged(path) : error;
  }
}

function damaged(path: string): Denied {
  return new Denied(
    "store_unreadable",
    `${path} is damaged, or is no SQLite database. With the gateway stopped, move it and what lies beside it (${path}-wal, ${path}-shm) away and keep them. Then: gw restore FILE with a backup, or without one gw restore --as-found. What it knew to be under way stands in the log alone then (gw activity --outcome unknown): look at the providers.`,
  );
}

function startStore(file: SqliteFile, path: string, key: KeyObject, random: Random): SqliteStateStore {
  const upserts = new Map<Table, StatementSync>();
  const deletes = new Map<Table, StatementSync>();
  const selects = new Map<Table, StatementSync>();
  for (const table of stateTables) {
    selects.set(table, file.handle.prepare(`select id, run_id, state, sealed from ${table} where id = ?`));
    deletes.set(table, file.handle.prepare(`delete from ${table} where id = ?`));
    upserts.set(
      table,
      file.handle.prepare(
        `insert into ${table} (id, run_id, state, sealed) values (?, ?, ?, ?)
         on conflict (id) do update set state = excluded.state, sealed = excluded.sealed`,
      ),
    );
  }
  const mark = createRowMark(file.handle, key, random);
  let waiting: Waiting[] = [];
  /** The rows that are among them. */
  const awaited = new Set<string>();
  let durable = false;
  let durableGeneration = 0;
  let level: "normal" | "full" = "normal";

  function flush(): void {
    const [batch, full] = [waiting, durable];
    if (batch.length === 0) return;
    waiting = [];
    awaited.clear();
    durable = false;
    try {
      const wanted = full ? "full" : "normal";
      if (level !== wanted) file.handle.exec(`pragma synchronous = ${wanted}`);
      level = wanted;
      const refused = write(() => writeBatch(batch));
      if (full) durableGeneration = mark.known() ?? 0;
      for (const one of batch) {
        if (refused.has(one)) one.reject(new Denied("operation_taken_over", TAKEN_OVER));
        else one.resolve();
      }
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
    }
  }

  /** One transaction, the mark of its rows last. */
  function write<Result>(work: () => Result): Result {
    try {
      return file.immediate(() => {
        const result = work();
        mark.write();
        return result;
      });
    } catch (error) {
      mark.forget();
      throw isDamaged(error) ? damaged(path) : error;
    }
  }

  function put(row: StateRow): void {
    const before = sealedOf(row.table, row.id);
    if (row.over === true) {
      if (before === undefined) return;
      mark.note(row.table, row.id, before, undefined);
      deletes.get(row.table)?.run(row.id);
      return;
    }
    const sealed = sealRow(key, row, row.body, random);
    mark.note(row.table, row.id, before, sealed);
    upserts.get(row.table)?.run(row.id, row.runId, row.state, sealed);
  }

  function sealedOf(table: Table, id: string): Uint8Array | undefined {
    const sealed = selects.get(table)?.get(id)?.["sealed"];
    return sealed instanceof Uint8Array ? sealed : undefined;
  }

  /** A row that several commits change is written once. Gives the commits whose row is no longer theirs to write. */
  function writeBatch(batch: readonly Waiting[]): ReadonlySet<Waiting> {
    const refused = new Set<Waiting>();
    const rows = new Map<string, StateRow>();
    for (const one of batch) {
      if (one.rows.every((row) => row.onlyIf === undefined || mayWrite(row, row.onlyIf, rows))) {
        for (const row of one.rows) rows.set(nameOf(row.table, row.id), row);
      } else refused.add(one);
    }
    for (const row of rows.values()) put(row);
    return refused;
  }

  /** What an earlier commit of the same batch leaves behind counts as stored. */
  function mayWrite(
    { table, id }: StateRow,
    allows: (stored: StateRow | null) => boolean,
    batched: ReadonlyMap<string, StateRow>,
  ): boolean {
    const before = batched.get(nameOf(table, id));
    const stored = before === undefined ? read(table, id) : before.over === true ? null : before;
    return stored === null || !("tampered" in stored) ? allows(stored) : false;
  }

  function read(table: Table, id: string): StateRow | { readonly tampered: string } | null {
    const found = selects.get(table)?.get(id);
    return found === undefined ? null : readRow(table, found);
  }

  function readRow(table: Table, row: Record<string, unknown>): StateRow | { readonly tampered: string } {
    const id = String(row["id"]);
    const place = { table, id, runId: String(row["run_id"]), state: String(row["state"]) };
    const sealed = row["sealed"] instanceof Uint8Array ? Buffer.from(row["sealed"]) : Buffer.alloc(0);
    const body = openRow(key, place, sealed);
    return body === undefined ? { tampered: id } : { ...place, table, body };
  }

  return {
    commit(changed, durability) {
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ rows: changed, resolve, reject });
        for (const { table, id } of changed) awaited.add(nameOf(table, id));
        durable ||= durability === "power";
      });
    },
    forget(table, states, beforeId) {
      const places = states.map(() => "?").join(", ");
      const old = `from ${table} where id < ? and state in (${places})`;
      write(() => {
        for (const row of file.handle.prepare(`select id, sealed ${old}`).all(beforeId, ...states)) {
          if (row["sealed"] instanceof Uint8Array) mark.note(table, String(row["id"]), row["sealed"], undefined);
        }
        file.handle.prepare(`delete ${old}`).run(beforeId, ...states);
      });
    },
    load(table, state) {
      // What waits may be of that state, or no longer be.
      if (waiting.length > 0) flush();
      const select = `select id, run_id, state, sealed from ${table} where state = ? order by id`;
      const found = nameDamage(path, () => file.handle.prepare(select).all(state));
      return found.map((row) => readRow(table, row));
    },
    find(table, id) {
      // What waits to be written counts as written: whoever looks must see it. Any other row leaves them their transaction.
      if (awaited.has(nameOf(table, id))) flush();
      return nameDamage(path, () => read(table, id));
    },
    async change(table, id, change) {
      if (waiting.length > 0) flush();
      return write(() => {
        const row = read(table, id);
        if (row === null || "tampered" in row) return row;
        const next = change(row);
        if (next === null) return row;
        put(next);
        return next;
      });
    },
    generation() {
      const written = mark.known();
      return written === null ? null : { written, durable: durableGeneration };
    },
    verify: () => nameDamage(path, () => mark.verify()),
    requireWhole() {
      try {
        if (file.handle.prepare("pragma quick_check(1)").get()?.["quick_check"] === "ok") return;
      } catch (error) {
        if (!isDamaged(error)) throw error;
      }
      throw damaged(path);
    },
    async recount(from) {
      write(() => mark.recount(from));
      file.handle.exec("pragma wal_checkpoint(truncate)");
      durableGeneration = mark.known() ?? 0;
    },
    async close() {
      if (waiting.length > 0) flush();
      file.close();
    },
  };
}

import type { KeyObject } from "node:crypto";
import type { StatementSync } from "node:sqlite";
import type { StateRow, StateStore } from "../../../gateway/ports.ts";
import type { Random } from "../../../kernel/clock.ts";
import { migrate } from "./migrate.ts";
import { openSqlite, type SqliteStore } from "./open.ts";
import { openRow, sealRow } from "./seal-row.ts";
import { type StateTables, stateMigrations, stateTables } from "./state-schema.ts";

type Table = StateRow["table"];

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * The gateway's state in one SQLite file. Rows that wait in the same turn of the event loop share one transaction, and a
 * row written twice in it is written once. Only a commit that asks to survive a power cut pays for a flush.
 */
export interface SqliteStateStore extends StateStore {
  close(): Promise<void>;
}

export async function openStateStore(path: string, key: KeyObject, random: Random): Promise<SqliteStateStore> {
  const file = openSqlite<StateTables>(path, { synchronous: "normal" });
  try {
    await migrate(file.db, stateMigrations);
    return startStore(file, key, random);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function startStore(file: SqliteStore<StateTables>, key: KeyObject, random: Random): SqliteStateStore {
  const upserts = new Map<Table, StatementSync>();
  for (const table of stateTables) {
    upserts.set(
      table,
      file.handle.prepare(
        `insert into ${table} (id, run_id, state, sealed) values (?, ?, ?, ?)
         on conflict (id) do update set state = excluded.state, sealed = excluded.sealed`,
      ),
    );
  }
  let rows = new Map<string, StateRow>();
  let waiting: Waiting[] = [];
  let durable = false;
  let level: "normal" | "full" = "normal";

  function flush(): void {
    const [batch, settle, full] = [rows, waiting, durable];
    if (settle.length === 0) return;
    rows = new Map();
    waiting = [];
    durable = false;
    try {
      const wanted = full ? "full" : "normal";
      if (level !== wanted) file.handle.exec(`pragma synchronous = ${wanted}`);
      level = wanted;
      file.immediate(() => {
        for (const row of batch.values()) {
          upserts.get(row.table)?.run(row.id, row.runId, row.state, sealRow(key, row, row.body, random));
        }
      });
      for (const { resolve } of settle) resolve();
    } catch (cause) {
      for (const { reject } of settle) reject(cause);
    }
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
        waiting.push({ resolve, reject });
        durable ||= durability === "power";
        for (const row of changed) rows.set(`${row.table} ${row.id}`, row);
      });
    },
    load(table, state) {
      const found = file.handle
        .prepare(`select id, run_id, state, sealed from ${table} where state = ? order by id`)
        .all(state);
      return found.map((row) => readRow(table, row));
    },
    find(table, id) {
      // What waits to be written counts as written: whoever looks must see it.
      if (waiting.length > 0) flush();
      const found = file.handle.prepare(`select id, run_id, state, sealed from ${table} where id = ?`).get(id);
      return found === undefined ? null : readRow(table, found);
    },
    async change(table, id, change) {
      if (waiting.length > 0) flush();
      return file.immediate(() => {
        const found = file.handle.prepare(`select id, run_id, state, sealed from ${table} where id = ?`).get(id);
        if (found === undefined) return null;
        const row = readRow(table, found);
        if ("tampered" in row) return row;
        const next = change(row);
        if (next === null) return row;
        upserts.get(table)?.run(next.id, next.runId, next.state, sealRow(key, next, next.body, random));
        return next;
      });
    },
    async close() {
      if (waiting.length > 0) flush();
      await file.close();
    },
  };
}

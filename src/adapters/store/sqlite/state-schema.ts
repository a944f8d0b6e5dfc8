import { sql } from "kysely";
import type { Migration } from "./migrate.ts";

/** The tables of the gateway's state. What a row says is sealed; only what recovery must look up stands in the clear. */
export interface StateTables {
  runs: StateTable;
  attempts: StateTable;
  notes: StateTable;
}

const withoutRowId = sql`without rowid`;

interface StateTable {
  id: string;
  run_id: string;
  state: string;
  sealed: Uint8Array;
}

export const stateTables = ["runs", "attempts", "notes"] as const;

export const stateMigrations: readonly Migration[] = [
  {
    name: "runs, attempts and notes",
    async up(transaction) {
      for (const table of stateTables) {
        await transaction.schema
          .createTable(table)
          .addColumn("id", "text", (column) => column.primaryKey())
          .addColumn("run_id", "text", (column) => column.notNull())
          .addColumn("state", "text", (column) => column.notNull())
          .addColumn("sealed", "blob", (column) => column.notNull())
          .modifyEnd(withoutRowId)
          .execute();
        await transaction.schema.createIndex(`${table}_by_state`).on(table).columns(["state", "id"]).execute();
      }
    },
  },
];

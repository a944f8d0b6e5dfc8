import { sql } from "kysely";
import type { Migration } from "./migrate.ts";

/** The tables of the gateway's state. What a row says is sealed; only what recovery must look up stands in the clear. */
export interface StateTables {
  runs: StateTable;
  attempts: StateTable;
  notes: StateTable;
  plans: StateTable;
  operations: StateTable;
  deployments: StateTable;
  /** One row: how often the others were written, and which they are. */
  marks: StateTable;
}

const withoutRowId = sql`without rowid`;

interface StateTable {
  id: string;
  run_id: string;
  state: string;
  sealed: Uint8Array;
}

export const stateTables = ["runs", "attempts", "notes", "plans", "operations", "deployments"] as const;

export const stateMigrations: readonly Migration[] = [
  { name: "runs, attempts and notes", up: (transaction) => createTables(transaction, ["runs", "attempts", "notes"]) },
  {
    name: "plans, operations and deployments",
    up: (transaction) => createTables(transaction, ["plans", "operations", "deployments"]),
  },
  { name: "the mark of all rows", up: (transaction) => createTables(transaction, ["marks"]) },
];

async function createTables(
  transaction: Parameters<Migration["up"]>[0],
  tables: readonly (keyof StateTables)[],
): Promise<void> {
  for (const table of tables) {
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
}

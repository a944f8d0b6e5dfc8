import type { Migration } from "./migrate.ts";

export const stateTables = ["runs", "attempts", "notes", "plans", "operations", "deployments"] as const;

/** The tables of the gateway's state. What a row says is sealed; only what recovery must look up stands in the clear. */
export const stateMigrations: readonly Migration[] = [
  { name: "runs, attempts and notes", statements: ["runs", "attempts", "notes"].flatMap(createTable) },
  {
    name: "plans, operations and deployments",
    statements: ["plans", "operations", "deployments"].flatMap(createTable),
  },
  // One row: how often the others were written, and which they are.
  { name: "the mark of all rows", statements: createTable("marks") },
];

function createTable(table: string): readonly string[] {
  return [
    `create table ${table} (id text primary key, run_id text not null, state text not null, sealed blob not null) without rowid`,
    `create index ${table}_by_state on ${table} (state, id)`,
  ];
}

import type { DatabaseSync } from "node:sqlite";
import { Denied } from "../../../kernel/failure.ts";
import type { SqliteFile } from "./open.ts";

/** One step of a schema. Its place in the list is its version; a step that was released is never changed. */
export interface Migration {
  readonly name: string;
  readonly statements: Iterable<string>;
}

/**
 * Brings the schema up to the last migration, each in its own transaction together with the row that says so. A file
 * that a newer program wrote is refused rather than guessed at. Returns the names of the steps it made.
 */
export function migrate(file: SqliteFile, migrations: readonly Migration[]): readonly string[] {
  // An empty list still refuses a file that has a version.
  findVersion(file, migrations);
  const made: string[] = [];
  for (const [index, migration] of migrations.entries())
    if (step(file, migrations, migration, index + 1)) made.push(migration.name);
  return made;
}

/** How many of the steps a file has; 0 for a new one. Refuses what `migrate` would refuse. */
export function findVersion(file: SqliteFile, migrations: readonly Migration[]): number {
  file.handle.exec("create table if not exists schema_version (version integer primary key, name text not null)");
  return readVersion(file.handle, migrations);
}

/** The version is read inside the transaction, so that two programs which start together do each step once. */
function step(file: SqliteFile, migrations: readonly Migration[], migration: Migration, version: number): boolean {
  return file.immediate(() => {
    if (readVersion(file.handle, migrations) >= version) return false;
    for (const statement of migration.statements) file.handle.exec(statement);
    file.handle.prepare("insert into schema_version (version, name) values (?, ?)").run(version, migration.name);
    return true;
  });
}

function readVersion(handle: DatabaseSync, migrations: readonly Migration[]): number {
  const rows = handle.prepare("select version, name from schema_version order by version").all();
  if (rows.length > migrations.length) {
    throw new Denied(
      "store_newer",
      `the store has schema version ${rows.length}, this program knows ${migrations.length}. Run the newer program, or restore a backup.`,
    );
  }
  rows.forEach(({ version, name }, index) => {
    if (version !== index + 1 || name !== migrations[index]?.name) {
      throw new Denied(
        "store_foreign",
        `the store's schema step ${version} is ${name}, this program expects ${migrations[index]?.name ?? "none"}.`,
      );
    }
  });
  return rows.length;
}

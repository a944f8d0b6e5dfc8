import type { Kysely, Transaction } from "kysely";
import { Denied } from "../../../kernel/failure.ts";

/** One step of a schema. Its place in the list is its version; a step that was released is never changed. */
export interface Migration {
  readonly name: string;
  up(transaction: Transaction<unknown>): Promise<void>;
}

/**
 * Brings the schema up to the last migration, each in its own transaction together with the row that says so. A file
 * that a newer program wrote is refused rather than guessed at. Returns the names of the steps it made.
 */
export async function migrate<Schema>(
  db: Kysely<Schema>,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const ledger = await openLedger(db);
  const made: string[] = [];
  for (let version = 1; version <= migrations.length; version++) {
    const name = await step(ledger, migrations, version);
    if (name !== null) made.push(name);
  }
  // An empty list still refuses a file that has a version.
  await readVersion(ledger, migrations);
  return made;
}

/** How many of the steps a file has; 0 for a new one. Refuses what `migrate` would refuse. */
export async function findVersion<Schema>(db: Kysely<Schema>, migrations: readonly Migration[]): Promise<number> {
  return readVersion(await openLedger(db), migrations);
}

/** A schema of its own for this one table: migrations know no tables yet. */
async function openLedger<Schema>(db: Kysely<Schema>): Promise<Kysely<Ledger>> {
  const ledger = db as unknown as Kysely<Ledger>;
  await ledger.schema
    .createTable("schema_version")
    .ifNotExists()
    .addColumn("version", "integer", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .execute();
  return ledger;
}

interface Ledger {
  schema_version: { version: number; name: string };
}

/** The version is read inside the transaction, so that two programs which start together do each step once. */
async function step(db: Kysely<Ledger>, migrations: readonly Migration[], version: number): Promise<string | null> {
  return db.transaction().execute(async (transaction) => {
    if ((await readVersion(transaction, migrations)) >= version) return null;
    const migration = migrations[version - 1];
    if (migration === undefined) return null;
    await migration.up(transaction as unknown as Transaction<unknown>);
    await transaction.insertInto("schema_version").values({ version, name: migration.name }).execute();
    return migration.name;
  });
}

async function readVersion(db: Kysely<Ledger>, migrations: readonly Migration[]): Promise<number> {
  const rows = await db.selectFrom("schema_version").select(["version", "name"]).orderBy("version").execute();
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

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { sql } from "kysely";
import { type Migration, migrate } from "./migrate.ts";
import { openSqlite } from "./open.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-migrate-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Schema {
  note: { id: number; text: string; mark: number };
  schema_version: { version: number; name: string };
}

const first: Migration = {
  name: "notes",
  up: async (transaction) => {
    await sql`CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)`.execute(transaction);
  },
};
const second: Migration = {
  name: "marks",
  up: async (transaction) => {
    await sql`ALTER TABLE note ADD COLUMN mark INTEGER NOT NULL DEFAULT 0`.execute(transaction);
  },
};
const broken: Migration = {
  name: "broken",
  up: async (transaction) => {
    await sql`CREATE TABLE half (x)`.execute(transaction);
    await sql`CREATE TABLE half (x)`.execute(transaction);
  },
};

let made = 0;
function open() {
  const path = join(folder, `state-${made++}.db`);
  const store = openSqlite<Schema>(path, { synchronous: "normal" });
  return { ...store, path, [Symbol.asyncDispose]: () => store.close() };
}

test("each migration is made once, in order, and recorded", async () => {
  await using store = open();
  assert.deepEqual(await migrate(store.db, [first]), ["notes"]);
  await store.db
    .insertInto("note")
    .values({ id: 1, text: "kept" } as Schema["note"])
    .execute();
  assert.deepEqual(await migrate(store.db, [first, second]), ["marks"]);
  assert.deepEqual(await migrate(store.db, [first, second]), []);
  const rows = await store.db.selectFrom("note").selectAll().execute();
  assert.deepEqual({ ...rows[0] }, { id: 1, text: "kept", mark: 0 });
  const versions = await store.db.selectFrom("schema_version").selectAll().execute();
  assert.deepEqual(
    versions.map((row) => ({ ...row })),
    [
      { version: 1, name: "notes" },
      { version: 2, name: "marks" },
    ],
  );
});

test("a migration that fails leaves the schema and the version where they were", async () => {
  await using store = open();
  await assert.rejects(migrate(store.db, [first, broken]), /already exists/);
  const tables = store.handle.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all();
  assert.deepEqual(tables, []);
  assert.deepEqual(await migrate(store.db, [first, second]), ["marks"]);
});

test("a store written by a newer program is refused and not touched", async () => {
  await using store = open();
  await migrate(store.db, [first, second]);
  await assert.rejects(migrate(store.db, [first]), { code: "store_newer" });
  await assert.rejects(migrate(store.db, []), { code: "store_newer" });
  const columns = store.handle.prepare("PRAGMA table_info(note)").all();
  assert.equal(columns.length, 3);
});

test("a store with another history is refused", async () => {
  await using store = open();
  await migrate(store.db, [{ ...first, name: "other" }]);
  await assert.rejects(migrate(store.db, [first, second]), { code: "store_foreign" });
});

const STARTER = `
  const { openSqlite } = await import(process.argv[1] + "/open.ts");
  const { migrate } = await import(process.argv[1] + "/migrate.ts");
  const { sql } = await import("kysely");
  const steps = Array.from({ length: 12 }, (_, index) => ({
    name: "step-" + index,
    up: async (transaction) => {
      await sql.raw("CREATE TABLE t" + index + " (x)").execute(transaction);
    },
  }));
  const store = openSqlite(process.argv[2], { synchronous: "normal" });
  process.stdout.write("ready\\n");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  process.stdout.write(JSON.stringify(await migrate(store.db, steps)) + "\\n");
  process.exit(0);
`;

test("two programs that start together make each step once", async () => {
  const path = join(folder, "together.db");
  openSqlite(path, { synchronous: "normal" }).handle.close();
  const programs = [0, 1, 2].map(() => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", STARTER, import.meta.dirname, path], {
      cwd: import.meta.dirname,
      stdio: ["pipe", "pipe", "inherit"],
    });
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  });
  for (const { lines } of programs) assert.equal((await lines.next()).value, "ready");
  for (const { child } of programs) child.stdin.write("go\n");
  const done: string[] = [];
  for (const { lines } of programs) done.push(...(JSON.parse(String((await lines.next()).value)) as string[]));
  assert.deepEqual(done.sort(), Array.from({ length: 12 }, (_, index) => `step-${index}`).sort());
});

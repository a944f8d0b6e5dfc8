import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { type Migration, migrate } from "./migrate.ts";
import { openSqlite } from "./open.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-migrate-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const first: Migration = {
  name: "notes",
  statements: ["CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"],
};
const second: Migration = {
  name: "marks",
  statements: ["ALTER TABLE note ADD COLUMN mark INTEGER NOT NULL DEFAULT 0"],
};
const broken: Migration = { name: "broken", statements: ["CREATE TABLE half (x)", "CREATE TABLE half (x)"] };

let made = 0;
function open() {
  const file = openSqlite(join(folder, `state-${made++}.db`), { synchronous: "normal" });
  return { ...file, [Symbol.dispose]: () => file.close() };
}

test("each migration is made once, in order, and recorded", () => {
  using store = open();
  assert.deepEqual(migrate(store, [first]), ["notes"]);
  store.handle.exec("INSERT INTO note (id, text) VALUES (1, 'kept')");
  assert.deepEqual(migrate(store, [first, second]), ["marks"]);
  assert.deepEqual(migrate(store, [first, second]), []);
  assert.deepEqual({ ...store.handle.prepare("SELECT * FROM note").get() }, { id: 1, text: "kept", mark: 0 });
  const versions = store.handle.prepare("SELECT version, name FROM schema_version").all();
  assert.deepEqual(
    versions.map((row) => ({ ...row })),
    [
      { version: 1, name: "notes" },
      { version: 2, name: "marks" },
    ],
  );
});

test("a migration that fails leaves the schema and the version where they were", () => {
  using store = open();
  assert.throws(() => migrate(store, [first, broken]), /already exists/);
  const tables = store.handle.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all();
  assert.deepEqual(tables, []);
  assert.deepEqual(migrate(store, [first, second]), ["marks"]);
});

test("a store written by a newer program is refused and not touched", () => {
  using store = open();
  migrate(store, [first, second]);
  assert.throws(() => migrate(store, [first]), { code: "store_newer" });
  assert.throws(() => migrate(store, []), { code: "store_newer" });
  const columns = store.handle.prepare("PRAGMA table_info(note)").all();
  assert.equal(columns.length, 3);
});

test("a store with another history is refused", () => {
  using store = open();
  migrate(store, [{ ...first, name: "other" }]);
  assert.throws(() => migrate(store, [first, second]), { code: "store_foreign" });
});

const STARTER = `
  const { openSqlite } = await import(process.argv[1] + "/open.ts");
  const { migrate } = await import(process.argv[1] + "/migrate.ts");
  const steps = Array.from({ length: 12 }, (_, index) => ({
    name: "step-" + index,
    statements: ["CREATE TABLE t" + index + " (x)"],
  }));
  const store = openSqlite(process.argv[2], { synchronous: "normal" });
  process.stdout.write("ready\\n");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  process.stdout.write(JSON.stringify(migrate(store, steps)) + "\\n");
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

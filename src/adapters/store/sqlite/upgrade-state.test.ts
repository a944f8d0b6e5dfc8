import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import type { Migration } from "./migrate.ts";
import { openSqlite } from "./open.ts";
import { readFormat, requireKnownFormat, upgradeState } from "./upgrade-state.ts";

const root = mkdtempSync(join(tmpdir(), "gw-upgrade-state-"));
after(() => rmSync(root, { recursive: true, force: true }));

const step = (name: string, statement: string): Migration => ({ name, statements: [statement] });
const one = step("one", "CREATE TABLE thing (id TEXT PRIMARY KEY)");
const two = step("two", "ALTER TABLE thing ADD COLUMN mark INTEGER NOT NULL DEFAULT 7");
const three = step("three", "CREATE TABLE third (id TEXT)");
const broken = step("three", "CREATE TABLE thing (id TEXT)");

function makeHome() {
  const home = mkdtempSync(join(root, "home-"));
  const path = join(home, "state.db");
  return {
    home,
    path,
    copies: (): readonly string[] => {
      const all = readdirSync(home);
      return all.includes("before-upgrade") ? readdirSync(join(home, "before-upgrade")).sort() : [];
    },
    open(migrations: readonly Migration[]): void {
      const file = openSqlite(path, { synchronous: "normal" });
      try {
        upgradeState(file, path, migrations);
      } finally {
        file.close();
      }
    },
    run: (statement: string) => {
      const db = new DatabaseSync(path);
      try {
        return db.prepare(statement).all();
      } finally {
        db.close();
      }
    },
  };
}

const codeOf = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

test("a new state has a format and no copy; a later program copies what was there, then takes its steps", () => {
  const { home, open, run, copies } = makeHome();
  open([one]);
  assert.deepEqual([readFormat(home), copies()], [1, []]);
  run("INSERT INTO thing (id) VALUES ('kept')");
  open([one, two]);
  assert.deepEqual([readFormat(home), copies()], [2, ["state-1.db"]]);
  assert.equal(statSync(join(home, "before-upgrade", "state-1.db")).mode & 0o777, 0o600);
  assert.deepEqual({ ...run("SELECT * FROM thing")[0] }, { id: "kept", mark: 7 });
  const copy = new DatabaseSync(join(home, "before-upgrade", "state-1.db"), { readOnly: true });
  assert.deepEqual({ ...copy.prepare("SELECT * FROM thing").get() }, { id: "kept" });
  copy.close();
  open([one, two]);
  assert.deepEqual(copies(), ["state-1.db"], "an open without a step copies nothing");
});

test("a state from before there was a format gets one, and nothing else changes", () => {
  const { home, open, copies } = makeHome();
  open([one]);
  rmSync(join(home, "format"));
  open([one]);
  assert.deepEqual([readFormat(home), copies()], [1, []]);
});

test("a migration that fails half way leaves the state as it was and the copy whole; the next start goes on", () => {
  const { home, open, run, copies } = makeHome();
  open([one]);
  run("INSERT INTO thing (id) VALUES ('kept')");
  assert.throws(() => open([one, two, broken]), codeOf("migration_failed"));
  // The step before it is whole: an older program must not open this, and the line says so.
  assert.deepEqual([readFormat(home), copies()], [3, ["state-1.db"]]);
  open([one, two, three]);
  assert.deepEqual(copies(), ["state-1.db", "state-2.db"]);
  assert.deepEqual({ ...run("SELECT * FROM thing")[0] }, { id: "kept", mark: 7 });
});

test("where the copy cannot be made no step is taken, and the program from before still opens the state", () => {
  const { home, open, run } = makeHome();
  open([one]);
  run("INSERT INTO thing (id) VALUES ('kept')");
  writeFileSync(join(home, "before-upgrade"), "in the way");
  assert.throws(() => open([one, two]), codeOf("migration_failed"));
  assert.equal(readFormat(home), 1);
  open([one]);
  assert.deepEqual({ ...run("SELECT * FROM thing")[0] }, { id: "kept" });
});

test("an earlier copy is never written over", () => {
  const { home, open, run, copies } = makeHome();
  open([one]);
  open([one, two]);
  const first = readFileSync(join(home, "before-upgrade", "state-1.db"));
  // Somebody went back to the copy, by hand, and came again.
  rmSync(join(home, "state.db"));
  writeFileSync(join(home, "state.db"), first, { mode: 0o600 });
  run("INSERT INTO thing (id) VALUES ('later')");
  open([one, two]);
  assert.deepEqual(copies(), ["state-1.2.db", "state-1.db"]);
  assert.deepEqual(readFileSync(join(home, "before-upgrade", "state-1.db")), first);
});

test("a home of a newer program, or in words that this one does not know, is refused before it is touched", () => {
  const { home, open } = makeHome();
  requireKnownFormat(home, 1);
  open([one, two]);
  requireKnownFormat(home, 2);
  assert.throws(() => requireKnownFormat(home, 1), codeOf("store_newer"));
  assert.throws(() => open([one]), codeOf("store_newer"));
  for (const words of ["gw.home/v2 state 1\n", "", `gw.home/v1 state ${"9".repeat(9)}\n`]) {
    writeFileSync(join(home, "format"), words);
    assert.throws(() => requireKnownFormat(home, 2), codeOf("store_newer"), words);
  }
  rmSync(join(home, "format"));
  symlinkSync("/etc/passwd", join(home, "format"));
  assert.throws(() => requireKnownFormat(home, 2), /ELOOP/);
});

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { openSqlite } from "./open.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-sqlite-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function freshPath(): string {
  const home = join(folder, `home-${made++}`);
  mkdirSync(home, { mode: 0o700 });
  return join(home, "state.db");
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

describe("the file", () => {
  test("a new store and its side files are readable by their owner alone, whatever the umask", () => {
    const path = freshPath();
    const before = process.umask(0);
    try {
      const store = openSqlite(path, { synchronous: "full" });
      store.handle.exec("CREATE TABLE t (x)");
      for (const side of ["", "-wal", "-shm"]) assert.equal(modeOf(path + side), "600");
      store.close();
    } finally {
      process.umask(before);
    }
  });

  test("a symbolic link in the place of the store is refused, also one that leads nowhere", () => {
    const path = freshPath();
    symlinkSync(join(folder, "elsewhere.db"), path);
    assert.throws(() => openSqlite(path, { synchronous: "full" }), { code: "store_unsafe" });
    assert.throws(() => statSync(join(folder, "elsewhere.db")), { code: "ENOENT" });
  });

  test("a symbolic link in the place of a side file is refused", () => {
    for (const side of ["-wal", "-shm", "-journal"]) {
      const path = freshPath();
      symlinkSync(join(folder, "target"), path + side);
      assert.throws(() => openSqlite(path, { synchronous: "full" }), { code: "store_unsafe" });
    }
  });

  test("a store that others may read, that has a second name, or that is no file is refused", () => {
    const wide = freshPath();
    writeFileSync(wide, "", { mode: 0o640 });
    chmodSync(wide, 0o640);
    assert.throws(() => openSqlite(wide, { synchronous: "full" }), { code: "store_unsafe" });
    const linked = freshPath();
    writeFileSync(linked, "", { mode: 0o600 });
    linkSync(linked, `${linked}.other`);
    assert.throws(() => openSqlite(linked, { synchronous: "full" }), { code: "store_unsafe" });
    const directory = freshPath();
    mkdirSync(directory, { mode: 0o700 });
    assert.throws(() => openSqlite(directory, { synchronous: "full" }), { code: "store_unsafe" });
  });

  test("a folder that others may write in is refused, and so is one that is not there", () => {
    const path = freshPath();
    chmodSync(join(path, ".."), 0o777);
    assert.throws(() => openSqlite(path, { synchronous: "full" }), { code: "store_unsafe" });
    assert.throws(() => openSqlite(join(folder, "absent", "state.db"), { synchronous: "full" }), {
      code: "store_unsafe",
    });
  });

  test("a file that is not a database is refused and left as it is", () => {
    const path = freshPath();
    writeFileSync(path, "this is no database, and it is longer than a header ".repeat(40), { mode: 0o600 });
    const { size } = statSync(path);
    assert.throws(() => openSqlite(path, { synchronous: "full" }), { code: "store_unreadable" });
    assert.equal(statSync(path).size, size);
  });
});

describe("the settings", () => {
  test("a store has a write-ahead log, foreign keys and the durability that was asked for", () => {
    for (const [synchronous, level] of [
      ["full", 2],
      ["normal", 1],
    ] as const) {
      const store = openSqlite(freshPath(), { synchronous });
      const read = (name: string): unknown => Object.values(store.handle.prepare(`PRAGMA ${name}`).get() ?? {})[0];
      assert.equal(read("synchronous"), level);
      assert.equal(read("journal_mode"), "wal");
      assert.equal(read("foreign_keys"), 1);
      assert.equal(read("trusted_schema"), 0);
      assert.throws(() => store.handle.prepare('SELECT "no such column"'), /no such column/);
      store.close();
    }
  });

  test("a second connection of the same process leaves the first one's locks in place", () => {
    const path = freshPath();
    const first = openSqlite(path, { synchronous: "normal", busyMs: 0 });
    first.handle.exec("CREATE TABLE t (x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
    const second = openSqlite(path, { synchronous: "normal", busyMs: 0 });
    assert.throws(() => second.handle.exec("BEGIN IMMEDIATE"), /locked/);
    first.handle.exec("COMMIT");
    assert.equal(second.handle.prepare("SELECT count(*) AS n FROM t").get()?.["n"], 1);
    second.close();
    first.close();
  });
});

describe("an immediate transaction", () => {
  function open() {
    const file = openSqlite(freshPath(), { synchronous: "normal" });
    file.handle.exec("CREATE TABLE t (x INTEGER NOT NULL CHECK (x >= 0))");
    return { ...file, [Symbol.dispose]: () => file.close() };
  }

  test("commits what its work returns and undoes what throws", () => {
    using store = open();
    const add = store.handle.prepare("INSERT INTO t (x) VALUES (?)");
    assert.equal(
      store.immediate(() => add.run(3).changes),
      1,
    );
    assert.throws(() =>
      store.immediate(() => {
        add.run(4);
        add.run(-1);
      }),
    );
    assert.deepEqual(
      store.handle
        .prepare("SELECT x FROM t")
        .all()
        .map((row) => row["x"]),
      [3],
    );
    assert.equal(store.handle.isTransaction, false);
  });

  test("refuses to join one that is open, and refuses asynchronous work", () => {
    using store = open();
    store.immediate(() => {
      assert.throws(() => store.immediate(() => 1), { name: "Fault" });
    });
    assert.throws(() => store.immediate(async () => 1), { name: "Fault" });
    assert.equal(store.handle.isTransaction, false);
  });
});

const WRITER = `
  const { openSqlite } = await import(process.argv[1]);
  const store = openSqlite(process.argv[2], { synchronous: process.argv[3] });
  store.handle.exec("CREATE TABLE IF NOT EXISTS pair (id INTEGER PRIMARY KEY, half INTEGER NOT NULL)");
  const add = store.handle.prepare("INSERT INTO pair (id, half) VALUES (?, ?)");
  const from = Number(store.handle.prepare("SELECT coalesce(max(id), 0) AS top FROM pair").get().top);
  for (let n = from / 2; ; n++) {
    store.immediate(() => { add.run(2 * n + 1, 1); add.run(2 * n + 2, 2); });
    require("node:fs").writeSync(1, (n + 1) + "\\n");
  }
`;

function startWriter(path: string, synchronous: string): ChildProcess {
  const module = join(import.meta.dirname, "open.ts");
  const script = `const require = (await import("node:module")).createRequire("file:///"); ${WRITER}`;
  return spawn(process.execPath, ["--input-type=module", "-e", script, module, path, synchronous], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

describe("durability", () => {
  for (const synchronous of ["full", "normal"] as const) {
    test(`no acknowledged commit is lost and no half is seen when the writer is killed (${synchronous})`, async () => {
      const path = freshPath();
      let acknowledged = 0;
      for (let round = 1; round <= 4; round++) {
        const writer = startWriter(path, synchronous);
        const target = acknowledged + round * 7;
        const exited = once(writer, "exit");
        assert.ok(writer.stdout);
        for await (const line of createInterface({ input: writer.stdout })) {
          acknowledged = Number(line);
          if (acknowledged >= target) writer.kill("SIGKILL");
        }
        assert.equal((await exited)[1], "SIGKILL");
        const store = openSqlite(path, { synchronous });
        const row = store.handle.prepare("SELECT count(*) AS rows, coalesce(max(id), 0) AS top FROM pair").get();
        const { rows, top } = { rows: Number(row?.["rows"]), top: Number(row?.["top"]) };
        assert.ok(top >= 2 * acknowledged, `${top} rows where ${acknowledged} pairs were acknowledged`);
        assert.equal(rows, top);
        assert.equal(rows % 2, 0);
        assert.deepEqual({ ...store.handle.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
        store.close();
      }
    });
  }
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Generated, sql } from "kysely";
import { openSqlite, type SqliteStore } from "./open.ts";

interface Schema {
  account: { id: Generated<number>; owner: string; cents: number; seal: Uint8Array | null };
  entry: { id: Generated<number>; account_id: number; cents: number };
}

async function open(statements = 256): Promise<SqliteStore<Schema> & AsyncDisposable> {
  const store = openSqlite<Schema>(":memory:", { synchronous: "normal", statements });
  store.handle.exec(`
    CREATE TABLE account (id INTEGER PRIMARY KEY, owner TEXT NOT NULL UNIQUE, cents INTEGER NOT NULL CHECK (cents >= 0), seal BLOB);
    CREATE TABLE entry (id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES account (id), cents INTEGER NOT NULL);
  `);
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

describe("queries", () => {
  test("a row comes back as it was written, with its identifier and the number of rows changed", async () => {
    await using store = await open();
    const inserted = await store.db
      .insertInto("account")
      .values({ owner: "ana", cents: 5, seal: Buffer.from([0, 255, 7]) })
      .executeTakeFirstOrThrow();
    assert.equal(inserted.insertId, 1n);
    assert.equal(inserted.numInsertedOrUpdatedRows, 1n);
    const row = await store.db.selectFrom("account").selectAll().executeTakeFirstOrThrow();
    assert.deepEqual({ ...row, seal: [...(row.seal ?? [])] }, { id: 1, owner: "ana", cents: 5, seal: [0, 255, 7] });
    const updated = await store.db.updateTable("account").set({ cents: 6 }).executeTakeFirstOrThrow();
    assert.equal(updated.numUpdatedRows, 1n);
    const deleted = await store.db.deleteFrom("account").where("cents", "=", 0).executeTakeFirstOrThrow();
    assert.equal(deleted.numDeletedRows, 0n);
  });

  test("a change with RETURNING gives its rows", async () => {
    await using store = await open();
    const row = await store.db
      .insertInto("account")
      .values({ owner: "bo", cents: 9, seal: null })
      .returning(["id", "cents"])
      .executeTakeFirstOrThrow();
    assert.deepEqual({ ...row }, { id: 1, cents: 9 });
  });

  test("any text and any bytes survive the round trip", async () => {
    await using store = await open();
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), fc.uint8Array(), async (owner, seal) => {
        fc.pre(owner.isWellFormed() && !owner.includes("\0"));
        await store.db.deleteFrom("account").execute();
        await store.db.insertInto("account").values({ owner, cents: 0, seal }).execute();
        const row = await store.db.selectFrom("account").selectAll().executeTakeFirstOrThrow();
        assert.equal(row.owner, owner);
        assert.deepEqual([...(row.seal ?? [])], [...seal]);
      }),
      { numRuns: 100 },
    );
  });

  test("a stream reads every row while the same query runs beside it", async () => {
    await using store = await open();
    for (let index = 0; index < 5; index++) {
      await store.db
        .insertInto("account")
        .values({ owner: `o${index}`, cents: index, seal: null })
        .execute();
    }
    const query = store.db.selectFrom("account").select("cents").orderBy("cents");
    const streamed: number[] = [];
    for await (const row of query.stream()) streamed.push(row.cents);
    assert.deepEqual(streamed, [0, 1, 2, 3, 4]);
    assert.equal((await query.execute()).length, 5);
  });

  test("more distinct statements than are kept still all run", async () => {
    await using store = await open(2);
    for (let round = 0; round < 3; round++) {
      for (let limit = 1; limit <= 5; limit++) {
        const { rows } = await sql<{ n: number }>`SELECT ${sql.raw(String(limit))} AS n`.execute(store.db);
        assert.equal(rows[0]?.n, limit);
      }
    }
  });

  test("foreign keys hold and a double-quoted word is never a string", async () => {
    await using store = await open();
    await assert.rejects(store.db.insertInto("entry").values({ account_id: 99, cents: 1 }).execute(), /FOREIGN KEY/);
    assert.throws(() => store.handle.prepare('SELECT "no such column"'), /no such column/);
  });
});

describe("transactions", () => {
  test("a transaction that throws leaves nothing behind", async () => {
    await using store = await open();
    await assert.rejects(
      store.db.transaction().execute(async (transaction) => {
        await transaction.insertInto("account").values({ owner: "ana", cents: 1, seal: null }).execute();
        throw new Error("stop");
      }),
      /stop/,
    );
    assert.deepEqual(await store.db.selectFrom("account").selectAll().execute(), []);
    assert.equal(store.handle.isTransaction, false);
  });

  test("a query from outside never lands in a transaction that is waiting", async () => {
    await using store = await open();
    const gate = Promise.withResolvers<void>();
    const inside = store.db.transaction().execute(async (transaction) => {
      await transaction.insertInto("account").values({ owner: "inside", cents: 1, seal: null }).execute();
      await gate.promise;
      throw new Error("undo");
    });
    const outside = store.db.insertInto("account").values({ owner: "outside", cents: 1, seal: null }).execute();
    gate.resolve();
    await assert.rejects(inside, /undo/);
    await outside;
    const rows = await store.db.selectFrom("account").select("owner").execute();
    assert.deepEqual(
      rows.map((row) => row.owner),
      ["outside"],
    );
  });

  test("a hundred concurrent transactions that read, wait and write never lose an update", async () => {
    await using store = await open();
    await store.db.insertInto("account").values({ owner: "ana", cents: 0, seal: null }).execute();
    await Promise.all(
      Array.from({ length: 100 }, () =>
        store.db.transaction().execute(async (transaction) => {
          const { cents } = await transaction.selectFrom("account").select("cents").executeTakeFirstOrThrow();
          await Promise.resolve();
          await transaction
            .updateTable("account")
            .set({ cents: cents + 1 })
            .execute();
        }),
      ),
    );
    const { cents } = await store.db.selectFrom("account").select("cents").executeTakeFirstOrThrow();
    assert.equal(cents, 100);
  });

  test("a savepoint undoes its own part only", async () => {
    await using store = await open();
    const transaction = await store.db.startTransaction().execute();
    await transaction.insertInto("account").values({ owner: "kept", cents: 1, seal: null }).execute();
    const inner = await transaction.savepoint('odd "name"').execute();
    await inner.insertInto("account").values({ owner: "undone", cents: 1, seal: null }).execute();
    const after = await inner.rollbackToSavepoint('odd "name"').execute();
    await after.releaseSavepoint('odd "name"').execute();
    await transaction.commit().execute();
    const rows = await store.db.selectFrom("account").select("owner").execute();
    assert.deepEqual(
      rows.map((row) => row.owner),
      ["kept"],
    );
  });

  test("an immediate transaction commits what its work returns and undoes what throws", async () => {
    await using store = await open();
    const add = store.handle.prepare("INSERT INTO account (owner, cents) VALUES (?, ?)");
    assert.equal(
      store.immediate(() => add.run("ana", 3).changes),
      1,
    );
    assert.throws(() =>
      store.immediate(() => {
        add.run("bo", 3);
        add.run("cy", -1);
      }),
    );
    const rows = await store.db.selectFrom("account").select("owner").execute();
    assert.deepEqual(
      rows.map((row) => row.owner),
      ["ana"],
    );
  });

  test("an immediate transaction refuses to join one that is open, and refuses asynchronous work", async () => {
    await using store = await open();
    await store.db.transaction().execute(async () => {
      assert.throws(() => store.immediate(() => 1), { name: "Fault" });
    });
    assert.throws(() => store.immediate(async () => 1), { name: "Fault" });
    assert.equal(store.handle.isTransaction, false);
  });
});

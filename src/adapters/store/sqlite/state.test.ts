import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import type { StateRow } from "../../../gateway/ports.ts";
import { Denied } from "../../../kernel/failure.ts";
import { firstIdAt } from "../../../kernel/ids.ts";
import { openStateStore } from "./state.ts";

const random = { bytes: randomBytes };
const key = createSecretKey(randomBytes(32));
let folder = "";
let path = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gw-state-"));
  path = join(folder, "state.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function row(id: string, state: string, body: StateRow["body"] = { used: 1 }): StateRow {
  return { table: "runs", id, runId: id, state, body };
}

test("rows of one turn share a transaction, and a row written twice is written once", async () => {
  const store = await openStateStore(path, key, random);
  await Promise.all([
    store.commit([row("a", "open", { used: 1 })], "process"),
    store.commit([row("a", "open", { used: 2 }), row("b", "pending")], "power"),
  ]);
  assert.deepEqual(store.load("runs", "open"), [row("a", "open", { used: 2 })]);
  assert.deepEqual(store.load("runs", "pending"), [row("b", "pending")]);
  await store.close();
});

test("whoever looks for a row sees what waits to be written of it, and leaves all others their one transaction", async () => {
  const store = await openStateStore(path, key, random);
  await store.commit([row("a", "open")], "process");
  const before = store.generation()?.written ?? 0;
  const first = store.commit([row("b", "open")], "power");
  assert.deepEqual(store.find("runs", "a"), row("a", "open"));
  assert.equal(store.find("attempts", "b"), null);
  const second = store.commit([row("c", "open")], "power");
  await Promise.all([first, second]);
  assert.equal(store.generation()?.written, before + 1);
  const third = store.commit([row("c", "ended")], "power");
  assert.deepEqual(store.find("runs", "c"), row("c", "ended"));
  await third;
  const fourth = store.commit([row("b", "ended")], "power");
  assert.deepEqual(store.load("runs", "ended"), [row("b", "ended"), row("c", "ended")], "so does a list of them");
  await fourth;
  await store.close();
});

test("whoever looks for a row that cannot be written sees the one that stands, and all who waited with it are told", async () => {
  const store = await openStateStore(path, key, random);
  await store.commit([row("a", "open")], "power");
  const broken: StateRow = {
    ...row("a", "ended"),
    onlyIf: () => {
      throw new Error("the disk is full");
    },
  };
  const told = Promise.allSettled([store.commit([row("b", "open")], "power"), store.commit([broken], "power")]);
  assert.deepEqual(store.find("runs", "a"), row("a", "open"));
  assert.equal(store.find("runs", "b"), null, "none of the transaction is there");
  assert.deepEqual(
    (await told).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  await store.commit([row("b", "open")], "power");
  assert.deepEqual(store.find("runs", "b"), row("b", "open"));
  store.verify();
  await store.close();
});

test("a row that is over is forgotten, also when it was written in the same turn", async () => {
  const store = await openStateStore(path, key, random);
  await store.commit([row("a", "open"), row("b", "open")], "process");
  await Promise.all([
    store.commit([{ ...row("a", "ended"), over: true }, row("c", "open")], "process"),
    store.commit([{ ...row("c", "ended"), over: true }], "process"),
  ]);
  assert.deepEqual(store.load("runs", "open"), [row("b", "open")]);
  for (const id of ["a", "c"]) assert.equal(store.find("runs", id), null);
  await store.close();
});

test("only what has ended and was made before the identifier is forgotten", async () => {
  const store = await openStateStore(path, key, random);
  const old = firstIdAt("run", 1_000);
  const young = firstIdAt("run", 9_000);
  await store.commit([row(`${old}a`, "ended"), row(`${old}b`, "open"), row(`${young}c`, "ended")], "process");
  store.forget("runs", ["ended"], firstIdAt("run", 5_000));
  assert.equal(store.find("runs", `${old}a`), null);
  assert.ok(store.find("runs", `${old}b`) !== null && store.find("runs", `${young}c`) !== null);
  await store.close();
});

test("rows survive a close and open with the same key", async () => {
  const first = await openStateStore(path, key, random);
  await first.commit([row("a", "open")], "power");
  await first.close();
  const second = await openStateStore(path, key, random);
  assert.deepEqual(second.load("runs", "open"), [row("a", "open")]);
  await second.close();
});

test("what a row says is not in the file", async () => {
  const store = await openStateStore(path, key, random);
  await store.commit([row("a", "open", { purpose: "find-me-if-you-can" })], "power");
  await store.close();
  const file = new DatabaseSync(path);
  const sealed = file.prepare("select sealed from runs").get()?.["sealed"];
  assert.ok(sealed instanceof Uint8Array && !Buffer.from(sealed).includes("find-me"));
  file.close();
});

test("a row that was changed, moved, relabelled or made elsewhere comes back as tampered", async () => {
  const store = await openStateStore(path, key, random);
  await store.commit([row("a", "open", { used: 9 }), row("b", "open"), row("c", "ended"), row("d", "open")], "power");
  await store.close();
  const file = new DatabaseSync(path);
  file.exec("update runs set sealed = (select sealed from runs where id = 'a') where id = 'b'");
  file.exec("update runs set state = 'open' where id = 'c'");
  file.exec("update runs set sealed = zeroblob(60) where id = 'd'");
  file.close();
  const again = await openStateStore(path, key, random);
  assert.deepEqual(again.load("runs", "open"), [
    row("a", "open", { used: 9 }),
    { tampered: "b" },
    { tampered: "c" },
    { tampered: "d" },
  ]);
  await again.close();
  const stranger = await openStateStore(path, createSecretKey(randomBytes(32)), random);
  assert.ok(stranger.load("runs", "open").every((found) => "tampered" in found));
  await stranger.close();
});

test("a commit that fails rejects everyone who waited for it", async () => {
  const store = await openStateStore(path, key, random);
  const other = new DatabaseSync(path);
  other.exec("drop table runs");
  other.close();
  const results = await Promise.allSettled([
    store.commit([row("a", "open")], "process"),
    store.commit([row("b", "open")], "process"),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  await store.close();
});

test("a commit whose row is no longer its own writes nothing, and those beside it in the turn are written", async () => {
  const store = await openStateStore(path, key, random);
  await store.commit([row("a", "open", { term: 2 })], "process");
  const termIs = (term: number) => (stored: StateRow | null) => stored === null || stored.body["term"] === term;
  const late = store.commit([row("b", "open"), { ...row("a", "open", { term: 1 }), onlyIf: termIs(1) }], "process");
  const own = store.commit([{ ...row("a", "pending", { term: 2 }), onlyIf: termIs(2) }], "power");
  const fresh = store.commit([{ ...row("c", "open", { term: 1 }), onlyIf: termIs(1) }], "process");
  await assert.rejects(late, (error: unknown) => error instanceof Denied && error.code === "operation_taken_over");
  await Promise.all([own, fresh]);
  assert.deepEqual(
    store.load("runs", "open").map((found) => ("tampered" in found ? found.tampered : found.id)),
    ["c"],
  );
  assert.deepEqual(store.load("runs", "pending"), [row("a", "pending", { term: 2 })]);
  await store.close();
});

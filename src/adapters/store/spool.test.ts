import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { createSpool } from "./spool.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-spool-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("what a process that was killed left behind is gone at the start, and the folder is its owner's alone", () => {
  const spool = join(folder, "left");
  mkdirSync(spool, { mode: 0o755 });
  writeFileSync(join(spool, "0"), "somebody's upload");
  const file = createSpool(spool).open();
  assert.deepEqual(readdirSync(spool), []);
  file.close();
  assert.equal(statSync(spool).mode & 0o777, 0o700);
});

test("a body is read from its beginning as often as it is sent, has no name meanwhile, and is gone when it is let go", async () => {
  const spool = join(folder, "read");
  const file = createSpool(spool).open();
  const bytes = Buffer.alloc(700_000, "0123456789");
  for (let at = 0; at < bytes.byteLength; at += 99_999) void file.write(bytes.subarray(at, at + 99_999));
  await file.end();
  const body = file.body("sha256:0");
  assert.deepEqual(readdirSync(spool), []);
  assert.equal(body.byteLength, bytes.byteLength);
  for (const _ of [1, 2]) assert.ok(Buffer.concat(await body.read().toArray()).equals(bytes));
  file.close();
  await assert.rejects(body.read().toArray());
});

test("so many lie there at once and no more, until one is let go", async () => {
  const spool = createSpool(join(folder, "many"));
  const files = Array.from({ length: defaults.spooledAtOnce }, () => spool.open());
  assert.throws(
    () => spool.open(),
    (error) => error instanceof Denied && error.code === "too_many_requests",
  );
  files[0]?.abort();
  await new Promise(setImmediate);
  spool.open().close();
  for (const file of files) file.close();
});

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { createSpool } from "./spool.ts";

const roomy = { low: () => false };
const folder = mkdtempSync(join(tmpdir(), "gw-spool-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("what a process that was killed left behind is gone at the start, and the folder is its owner's alone", () => {
  const spool = join(folder, "left");
  mkdirSync(spool, { mode: 0o755 });
  writeFileSync(join(spool, "0"), "somebody's upload");
  const file = createSpool(spool, roomy).open(1);
  assert.deepEqual(readdirSync(spool), []);
  file.close();
  assert.equal(statSync(spool).mode & 0o777, 0o700);
});

test("a body is read from its beginning as often as it is sent, has no name meanwhile, and is gone when it is let go", async () => {
  const spool = join(folder, "read");
  const file = createSpool(spool, roomy).open(1);
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

test("so many lie there at once, so many of one user, and no more until one is let go", async () => {
  const spool = createSpool(join(folder, "many"), roomy);
  const refused = (uid: number): void =>
    assert.throws(
      () => spool.open(uid),
      (error) => error instanceof Denied && error.code === "too_many_requests",
    );
  const own = Array.from({ length: defaults.spooledAtOnceOfUser }, () => spool.open(1));
  refused(1);
  const others = Array.from({ length: defaults.spooledAtOnce - own.length }, (_, n) => spool.open(2 + n));
  refused(99);
  own[0]?.abort();
  await new Promise(setImmediate);
  spool.open(1).close();
  for (const file of [...own, ...others]) file.close();
});

test("before each piece is written the disk is asked for room for it", async () => {
  let free = defaults.diskReserveBytes + 10;
  const file = createSpool(join(folder, "full"), { low: (moreBytes) => moreBytes > free }).open(1);
  await file.write(Buffer.alloc(10));
  free -= 10;
  assert.throws(
    () => file.write(Buffer.alloc(1)),
    (error) => error instanceof Denied && error.code === "disk_low",
  );
  await file.end();
  assert.equal(file.body("sha256:0").byteLength, 10);
  file.close();
});

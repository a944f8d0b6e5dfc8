import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Secret } from "./secret.ts";

test("a secret shows nothing in toJSON, toString and inspection, however deep it is", () => {
  const secret = Secret.fromText("hunter2-hunter2");
  const holder = { a: [{ secret }], list: new Map([["x", secret]]) };
  const shown = [String(secret), `${secret}`, JSON.stringify(holder), inspect(holder, { depth: 9, showHidden: true })];
  for (const text of shown) assert.ok(!text.includes("hunter2"), text);
  assert.deepEqual(Object.keys(secret), []);
});

test("a wiped secret holds zeros and cannot be used", () => {
  const bytes = Buffer.from("hunter2");
  const secret = Secret.take(bytes);
  assert.equal(
    secret.use((lent) => lent.toString()),
    "hunter2",
  );
  secret.wipe();
  assert.ok(bytes.every((byte) => byte === 0));
  assert.throws(() => secret.use(() => undefined));
});

test("disposal wipes", () => {
  const bytes = Buffer.from("hunter2");
  {
    using secret = Secret.take(bytes);
    assert.equal(secret.byteLength, 7);
  }
  assert.ok(bytes.every((byte) => byte === 0));
});

test("secrets compare by content and length", () => {
  assert.ok(Secret.fromText("abc").equals(Secret.fromText("abc")));
  assert.ok(!Secret.fromText("abc").equals(Secret.fromText("abd")));
  assert.ok(!Secret.fromText("abc").equals(Secret.fromText("abcd")));
});

test("a copy outlives the secret it was made of", () => {
  const secret = Secret.fromText("hunter2");
  using copy = secret.copy();
  secret.wipe();
  assert.ok(copy.equals(Secret.fromText("hunter2")));
  assert.throws(() => secret.copy());
});

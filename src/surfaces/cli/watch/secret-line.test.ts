import assert from "node:assert/strict";
import { test } from "node:test";
import { createSecretLine } from "./secret-line.ts";

test("a typed secret can be mended, is handed over once, and is gone after that", () => {
  const line = createSecretLine();
  line.add(Buffer.from("47é"));
  assert.equal(line.characters, 3);
  line.drop();
  assert.equal(line.characters, 2);
  line.add(Buffer.from("11\r\n\u0003\u007f"));
  const secret = line.take();
  assert.equal(
    secret.use((bytes) => bytes.toString()),
    "4711",
  );
  assert.equal(line.characters, 0);
  assert.equal(line.take().byteLength, 0);
});

test("a secret is bounded, and clearing leaves nothing", () => {
  const line = createSecretLine();
  line.add(Buffer.alloc(10_000, 0x61));
  assert.equal(line.characters, 4_096);
  line.drop();
  line.clear();
  line.drop();
  assert.equal(line.characters, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ByteCollector } from "./collect-bytes.ts";

test("pieces of any size come together in order", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 20 }), (pieces) => {
      const collector = new ByteCollector();
      const expected = Buffer.concat(pieces);
      for (const piece of pieces) collector.push(piece);
      assert.equal(collector.size, expected.length);
      assert.deepEqual(collector.take(), expected);
    }),
  );
});

test("a body in single bytes costs at most twice its size", () => {
  const collector = new ByteCollector();
  const piece = Buffer.from("x");
  for (let index = 0; index < 100_000; index++) collector.push(piece);
  const bytes = collector.take();
  assert.equal(bytes.length, 100_000);
  assert.ok(bytes.buffer.byteLength <= 200_000, `${bytes.buffer.byteLength} bytes are held`);
});

import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { BOX_OVERHEAD_BYTES, seal, unseal } from "./box.ts";

const random = { bytes: (length: number) => randomBytes(length) };
const key = createSecretKey(randomBytes(32));

test("a sealed value opens to the same bytes under the same key and associated data", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.string({ maxLength: 60 }), (bytes, aad) => {
      const box = seal(key, aad, Buffer.from(bytes), random);
      assert.equal(box.length, bytes.length + BOX_OVERHEAD_BYTES);
      const opened = unseal(key, aad, box);
      assert.ok(opened?.use((plain) => plain.equals(bytes)));
    }),
  );
});

test("every single bit of a box matters", () => {
  const box = seal(key, "place", Buffer.from("twenty bytes of text"), random);
  for (let bit = 0; bit < box.length * 8; bit++) {
    const flipped = Buffer.from(box);
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    assert.equal(unseal(key, "place", flipped), undefined, `bit ${bit}`);
  }
});

test("a box does not open under another key, at another place, or cut short", () => {
  const box = seal(key, "place", Buffer.from("text"), random);
  assert.equal(unseal(createSecretKey(randomBytes(32)), "place", box), undefined);
  assert.equal(unseal(key, "another place", box), undefined);
  for (let length = 0; length < box.length; length++)
    assert.equal(unseal(key, "place", box.subarray(0, length)), undefined);
});

test("two boxes of one value share no byte string: each has its own key", () => {
  const [one, two] = [seal(key, "a", Buffer.alloc(64), random), seal(key, "a", Buffer.alloc(64), random)];
  assert.ok(!one.subarray(0, 32).equals(two.subarray(0, 32)));
  assert.ok(!one.subarray(64).equals(two.subarray(64)));
});

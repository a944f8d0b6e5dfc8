import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createLineReader } from "./lines.ts";

const text = fc.string({ unit: fc.constantFrom("a", "{", '"', "é", " ", "\r", "\n"), maxLength: 60 });

test("however the bytes are cut, the lines are the same", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(80), { maxLength: 8 }), (whole, cuts) => {
      const bytes = Buffer.from(whole, "utf8");
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b);
      const reader = createLineReader(1_000);
      const found: string[] = [];
      for (const [index, from] of places.entries()) {
        const read = reader.push(bytes.subarray(from, places[index + 1] ?? bytes.length));
        assert.equal(read.tooLong, false);
        found.push(...read.whole.map((line) => line.toString("utf8")));
      }
      const lines = whole.split("\n").slice(0, -1);
      assert.deepEqual(
        found,
        lines.filter((line) => line.trim() !== ""),
      );
    }),
  );
});

test("a line within the bound passes, one byte more does not, wherever its end is", () => {
  const exact = createLineReader(8);
  assert.deepEqual(exact.push(Buffer.from("12345678\n")), { whole: [Buffer.from("12345678")], tooLong: false });
  assert.equal(exact.push(Buffer.from("123456789\n")).tooLong, true);
  const open = createLineReader(8);
  assert.equal(open.push(Buffer.from("1234")).tooLong, false);
  assert.equal(open.push(Buffer.from("12345")).tooLong, true);
});

test("lines before one that is too long are still given", () => {
  const { whole, tooLong } = createLineReader(4).push(Buffer.from("ab\ncd\nefghij\nkl\n"));
  assert.deepEqual(whole.map(String), ["ab", "cd"]);
  assert.equal(tooLong, true);
});

test("a line that comes byte by byte is held in one buffer within the bound", () => {
  const reader = createLineReader(100_000);
  for (let index = 0; index < 99_999; index++) reader.push(Buffer.from("x"));
  assert.equal(reader.push(Buffer.from("y\n")).whole[0]?.length, 100_000);
});

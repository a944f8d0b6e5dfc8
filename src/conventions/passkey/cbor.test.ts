import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { type Cbor, readCbor } from "./cbor.ts";

/** The value of bytes that are nothing else. */
function read(hex: string): Cbor {
  const { value, length } = readCbor(Buffer.from(hex, "hex"));
  assert.equal(length, hex.length / 2);
  return value;
}

function refuses(hex: string): void {
  assert.throws(
    () => readCbor(Buffer.from(hex, "hex")),
    (error) => error instanceof Denied && error.code === "passkey_malformed",
    hex,
  );
}

test("CBOR is read strictly: whatever the bytes, a value with its length or a refusal", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        const { length } = readCbor(Buffer.from(bytes));
        assert.ok(length > 0 && length <= bytes.length);
      } catch (error) {
        assert.ok(error instanceof Denied && error.code === "passkey_malformed");
      }
    }),
  );
  for (const hex of [
    "1817",
    "190017",
    "5f4100ff",
    "a2010101 02",
    "fb3ff0000000000000",
    "818181818181",
    "62ff",
    "c000",
  ]) {
    refuses(hex.replaceAll(" ", ""));
  }
  assert.deepEqual(read("a10203"), new Map([[2, 3]]));
});

test("a number has one spelling, the shortest", () => {
  for (const [hex, value] of [
    ["17", 23],
    ["1818", 24],
    ["18ff", 255],
    ["190100", 256],
    ["19ffff", 65_535],
    ["1a00010000", 65_536],
    ["20", -1],
    ["3818", -25],
  ] as const)
    assert.equal(read(hex), value, hex);
  for (const hex of ["1817", "1900ff", "1a0000ffff", "1b0000000100000000", "1c", "1f"]) refuses(hex);
});

test("text, bytes, lists, the three words and nothing else", () => {
  assert.deepEqual(read("6161"), "a");
  assert.deepEqual(read("41ff"), Buffer.from([0xff]));
  assert.deepEqual(["f4", "f5", "f6"].map(read), [false, true, null]);
  assert.deepEqual(read("8201f6"), [1, null]);
  assert.deepEqual(read("a1616102"), new Map([["a", 2]]));
  for (const hex of ["f7", "f0", "f800", "e0", "41", "61", "81", "a101", ""]) refuses(hex);
});

test("a member has a name of its own, and a name is a number or a text", () => {
  for (const hex of ["a201000100", "a2616100616100", "a14000", "a1f500", "a18000"]) refuses(hex);
  assert.equal((read("a201000200") as ReadonlyMap<number, Cbor>).size, 2);
});

test("it is as deep and as wide as it may be, and no more", () => {
  assert.deepEqual(read("8181818180"), [[[[[]]]]]);
  refuses("818181818180");
  refuses("a101a101a101a101a10100");
  assert.equal((read(`9820${"00".repeat(32)}`) as readonly Cbor[]).length, 32);
  refuses(`9821${"00".repeat(33)}`);
});

import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { commitTo, startFrameKeys, unwrapSeed, wrapSeed } from "./seed.ts";

const random = { bytes: (length: number) => randomBytes(length) };
const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

test("frame keys are the second halves of the hashes that the page describes, the first halves go on", () => {
  fc.assert(
    fc.property(seeds, fc.nat(20), (seed, count) => {
      const expected: string[] = [];
      let chain: Buffer = Buffer.from(seed);
      for (let index = 0; index < count; index++) {
        const output = createHash("sha512").update("gw-audit-v1 chain").update(chain).digest();
        expected.push(output.toString("hex", 32));
        chain = output.subarray(0, 32);
      }
      const keys = startFrameKeys(Buffer.from(seed));
      const got = Array.from({ length: count }, () => keys.next().export().toString("hex"));
      assert.deepEqual(got, expected);
      assert.equal(new Set(got).size, count);
    }),
  );
});

test("the seed is wiped when the chain has begun", () => {
  const seed = randomBytes(32);
  startFrameKeys(seed);
  assert.ok(seed.every((byte) => byte === 0));
});

test("a wiped chain gives no key, least of all one that everybody can make", () => {
  const keys = startFrameKeys(randomBytes(32));
  keys.next();
  keys.wipe();
  assert.throws(() => keys.next(), { name: "Fault" });
  assert.doesNotThrow(() => keys.wipe());
});

test("a wrapped seed opens for its recipient, its log and its segment, and for nothing else", () => {
  const reader = generateKeyPairSync("x25519");
  const other = generateKeyPairSync("x25519");
  fc.assert(
    fc.property(seeds, fc.nat(), fc.nat(47), (seed, segment, flipped) => {
      const name = { logId: randomBytes(16), segment, commitment: commitTo(seed) };
      const wrapped = wrapSeed(name, seed, reader.publicKey, random);
      assert.deepEqual(unwrapSeed(name, wrapped, reader.privateKey), seed);
      assert.equal(unwrapSeed(name, wrapped, other.privateKey), undefined);
      assert.equal(unwrapSeed({ ...name, segment: segment + 1 }, wrapped, reader.privateKey), undefined);
      assert.equal(unwrapSeed({ ...name, logId: randomBytes(16) }, wrapped, reader.privateKey), undefined);
      assert.equal(unwrapSeed({ ...name, commitment: randomBytes(32) }, wrapped, reader.privateKey), undefined);
      const sealed = Buffer.from(wrapped.sealed);
      sealed.writeUInt8(sealed.readUInt8(flipped) ^ 1, flipped);
      assert.equal(unwrapSeed(name, { ...wrapped, sealed }, reader.privateKey), undefined);
    }),
    { numRuns: 30 },
  );
});

test("a seed that is not the one committed to is not given out, though it opens", () => {
  const reader = generateKeyPairSync("x25519");
  const name = { logId: randomBytes(16), segment: 1, commitment: randomBytes(32) };
  const wrapped = wrapSeed(name, randomBytes(32), reader.publicKey, random);
  assert.equal(unwrapSeed(name, wrapped, reader.privateKey), undefined);
});

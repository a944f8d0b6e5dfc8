import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  decodeAttest,
  decodeOpen,
  decodeSeal,
  encodeAttest,
  encodeOpen,
  encodeSeal,
  MAX_NAME_BYTES,
  MAX_RECIPIENTS,
  OPEN_REASONS,
  type OpenReason,
  SIGNATURE_BYTES,
} from "./bodies.ts";
import { FRAME_TYPES, MAX_BODY_BYTES, readHeader, readUint64, writeHeader, writeUint64 } from "./layout.ts";
import { paddedLength } from "./padding.ts";

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array));
const count = fc.maxSafeNat();
const PLAIN = { noNullPrototype: true };

const opens = fc.record(
  {
    logId: bytes(16),
    segment: count,
    reason: fc.constantFrom(...(Object.keys(OPEN_REASONS) as OpenReason[])),
    timeSeconds: count,
    vaultGeneration: count,
    vaultHash: bytes(32),
    firstSealKey: bytes(32),
    previousLength: count,
    tornLength: count,
    tornHash: bytes(32),
    commitment: bytes(32),
    recipients: fc.array(fc.record({ keyId: bytes(16), encapsulated: bytes(32), sealed: bytes(48) }, PLAIN), {
      maxLength: MAX_RECIPIENTS,
    }),
  },
  PLAIN,
);

const attests = fc.record(
  {
    openFrame: count,
    openLink: bytes(32),
    headFrame: count,
    headLink: bytes(32),
    beforeFrame: count,
    beforeLink: bytes(32),
    timeSeconds: count,
    operatorKey: bytes(32),
    operator: fc
      .string({ unit: "grapheme", maxLength: 16 })
      .filter((name) => Buffer.byteLength(name) <= MAX_NAME_BYTES),
  },
  PLAIN,
);

/** Every body that is a byte too short or too long, at either end. */
function misfits(body: Buffer): Buffer[] {
  return [body.subarray(1), body.subarray(0, -1), Buffer.concat([body, Buffer.alloc(1)]), Buffer.alloc(0)];
}

test("an OPEN body comes back as it went in, and is read at no other length", () => {
  fc.assert(
    fc.property(opens, (open) => {
      const body = encodeOpen(open);
      assert.deepEqual(decodeOpen(body), open);
      for (const wrong of misfits(body)) assert.equal(decodeOpen(wrong), undefined);
    }),
  );
});

test("an OPEN body with an unknown reason, too many recipients or filled padding is not read", () => {
  fc.assert(
    fc.property(opens, fc.integer({ min: 5, max: 255 }), (open, byte) => {
      const body = encodeOpen(open);
      for (const [at, value] of [
        [24, byte],
        [24, 0],
        [26, byte],
        [27, 1],
      ] as const) {
        const changed = Buffer.from(body);
        changed.writeUInt8(value, at);
        assert.equal(decodeOpen(changed), undefined, `byte ${at}`);
      }
      const crowded = Buffer.concat([body, Buffer.alloc(96 * (MAX_RECIPIENTS + 1 - open.recipients.length))]);
      crowded.writeUInt8(MAX_RECIPIENTS + 1, 25);
      assert.equal(decodeOpen(crowded), undefined);
    }),
  );
});

test("a SEAL body comes back as it went in, and is read at no other length", () => {
  fc.assert(
    fc.property(count, count, bytes(32), bytes(SIGNATURE_BYTES), (frames, timeSeconds, nextKey, signature) => {
      const body = Buffer.concat([encodeSeal({ count: frames, timeSeconds, nextKey }), signature]);
      assert.deepEqual(decodeSeal(body), { count: frames, timeSeconds, nextKey, signature });
      for (const wrong of misfits(body)) assert.equal(decodeSeal(wrong), undefined);
    }),
  );
});

test("an ATTEST body comes back as it went in, and is read at no other length", () => {
  fc.assert(
    fc.property(attests, bytes(SIGNATURE_BYTES), (attest, signature) => {
      const body = Buffer.concat([encodeAttest(attest), signature]);
      assert.deepEqual(decodeAttest(body), { ...attest, signature });
      for (const wrong of [body.subarray(0, -1), Buffer.concat([body, Buffer.alloc(1)])]) {
        assert.equal(decodeAttest(wrong), undefined);
      }
    }),
  );
});

test("an operator's name that is no UTF-8, or longer than a name may be, is not read", () => {
  fc.assert(
    fc.property(attests, bytes(SIGNATURE_BYTES), (attest, signature) => {
      const body = Buffer.concat([encodeAttest({ ...attest, operator: "ada" }), signature]);
      body.writeUInt8(0xff, 161);
      assert.equal(decodeAttest(body), undefined);
      const long = Buffer.concat([encodeAttest({ ...attest, operator: "x".repeat(MAX_NAME_BYTES + 1) }), signature]);
      assert.equal(decodeAttest(long), undefined);
    }),
    { numRuns: 20 },
  );
});

test("no bytes make a body's reader throw, and no number above 2^53 - 1 is believed", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 700 }), (array) => {
      const body = Buffer.from(array);
      for (const read of [decodeOpen, decodeSeal, decodeAttest]) read(body);
    }),
  );
  const huge = Buffer.alloc(112);
  huge.writeBigUInt64LE(2n ** 53n, 0);
  assert.equal(decodeSeal(huge), undefined);
  huge.writeBigUInt64LE(2n ** 53n - 1n, 0);
  assert.equal(decodeSeal(huge)?.count, Number.MAX_SAFE_INTEGER);
});

test("a header is read exactly when it is one that the page allows", () => {
  fc.assert(
    fc.property(bytes(16), (header) => {
      // Nearly right, or random bytes would hardly ever be a header.
      header[3] = 0;
      header[4] = (header[4] ?? 0) % 6;
      header[5] = (header[5] ?? 0) % 5;
      header[6] = (header[6] ?? 0) % 2;
      header[7] = 0;
      header[14] = (header[14] ?? 0) % 64;
      header[15] = 0;
      const length = header.readUInt32LE(0);
      const [type = 0, flags = 0] = header.subarray(4, 6);
      const allowed = [undefined, 0, 2, 3, 3][type];
      const frame = header.readBigUInt64LE(8);
      const right =
        length <= MAX_BODY_BYTES &&
        allowed !== undefined &&
        (flags & ~allowed) === 0 &&
        header[6] === 0 &&
        frame <= BigInt(Number.MAX_SAFE_INTEGER);
      const read = readHeader(header, 0);
      assert.equal(read !== undefined, right);
      if (read === undefined) return;
      const again = Buffer.alloc(20, 0xff);
      writeHeader(again, 2, read);
      assert.deepEqual(again.subarray(2, 18), header);
    }),
    { numRuns: 500 },
  );
  assert.equal(readHeader(Buffer.alloc(16), 0), undefined);
  assert.deepEqual(Object.values(FRAME_TYPES), [1, 2, 3, 4]);
});

test("a 64-bit number is written as every other program reads it", () => {
  fc.assert(
    fc.property(count, (value) => {
      const target = Buffer.alloc(8);
      writeUint64(target, value, 0);
      assert.equal(target.readBigUInt64LE(0), BigInt(value));
      assert.equal(readUint64(target, 0), value);
    }),
  );
});

test("a padded length is the smallest of the allowed ones, and padding it again changes nothing", () => {
  fc.assert(
    fc.property(fc.nat(MAX_BODY_BYTES), (length) => {
      const padded = paddedLength(length);
      assert.ok(padded >= length);
      assert.equal(paddedLength(padded), padded);
      assert.ok([512, 1024, 2048, 4096].includes(padded) || padded % 4096 === 0);
      const smaller = padded > 4096 ? padded - 4096 : padded / 2;
      assert.ok(smaller < length || padded === 512);
    }),
  );
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import { FRAME_TYPES } from "../frame/layout.ts";
import { startBuilder } from "./frame-builder.ts";

const frames = fc.array(
  fc.record({
    type: fc.constantFrom(...Object.values(FRAME_TYPES)),
    flags: fc.integer({ min: 0, max: 3 }),
    body: fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 60_000, max: 200_000 }).map((length) => new Uint8Array(length).fill(length)),
    ),
  }),
  { maxLength: 12 },
);
const links = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

/** A frame as the page describes it. */
function asDescribed(linkBefore: Buffer, frame: number, type: number, flags: number, body: Uint8Array) {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(body.length, 0);
  header.writeUInt8(type, 4);
  header.writeUInt8(flags, 5);
  header.writeBigUInt64LE(BigInt(frame), 8);
  const link = createHash("sha256").update(linkBefore).update(header).update(body).digest();
  return { header, link, bytes: Buffer.concat([header, body, link]) };
}

test("frames of any size follow one another byte for byte as the page describes them", () => {
  fc.assert(
    fc.property(links, fc.maxSafeNat(), frames, (linkBefore, firstFrame, several) => {
      const first = Math.min(firstFrame, Number.MAX_SAFE_INTEGER - several.length);
      const builder = startBuilder(linkBefore, first);
      let link = linkBefore;
      for (const [index, { type, flags, body }] of several.entries()) {
        const described = asDescribed(link, first + index, type, flags, body);
        assert.equal(builder.frame(), first + index);
        assert.equal(builder.link(), link.toString("hex"));
        assert.deepEqual(builder.build(type, flags, body), described.bytes);
        link = described.link;
      }
    }),
    { numRuns: runsOf(60) },
  );
});

test("what is authenticated beside a body is the header and then the link before it", () => {
  fc.assert(
    fc.property(links, frames, (linkBefore, several) => {
      const builder = startBuilder(linkBefore, 7);
      let link = linkBefore;
      for (const [index, { type, flags, body }] of several.entries()) {
        const { header, link: next, bytes } = asDescribed(link, 7 + index, type, flags, body);
        builder.begin(type, flags, body.length);
        assert.deepEqual(builder.additional, Buffer.concat([header, link]));
        const half = body.length >> 1;
        builder.add(body.subarray(0, half));
        builder.add(body.subarray(half));
        assert.deepEqual(builder.end(), bytes);
        link = next;
      }
    }),
    { numRuns: runsOf(60) },
  );
});

test("a builder keeps no hold on the link it was given", () => {
  const link = Buffer.alloc(32, 5);
  const builder = startBuilder(link, 0);
  link.fill(9);
  assert.equal(builder.link(), "05".repeat(32));
});

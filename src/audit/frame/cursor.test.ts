import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import type { ReadFile } from "../files.ts";
import { startBuilder } from "../write/frame-builder.ts";
import { isLinked, lastNonZero, openCursor } from "./cursor.ts";
import { FRAME_TYPES, GENESIS_LINK, MAGIC } from "./layout.ts";
import { examineTail } from "./tail.ts";

/** A file in memory that can grow between two looks, and that gives short reads only at its end. */
function memoryFile(initial: Buffer): ReadFile & { set(bytes: Buffer): void } {
  let bytes = initial;
  return {
    size: () => bytes.length,
    read: (target, position) => bytes.copy(target, 0, position, position + target.length),
    close: () => undefined,
    set(next) {
      bytes = next;
    },
  };
}

const bodies = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.integer({ min: 300_000, max: 1_300_000 }).map((length) => new Uint8Array(length).fill(7)),
  ),
  { maxLength: 8 },
);

function segmentOf(several: readonly Uint8Array[]): Buffer {
  const builder = startBuilder(GENESIS_LINK, 0);
  const frames = several.map((body) => Buffer.from(builder.build(FRAME_TYPES.data, 0, body)));
  return Buffer.concat([MAGIC, GENESIS_LINK, ...frames]);
}

function walk(file: ReadFile): { seen: Buffer[]; end: string; offset: number } {
  const cursor = openCursor(file);
  assert.ok(cursor);
  const seen: Buffer[] = [];
  for (;;) {
    const step = cursor.next();
    if (step !== "frame") return { seen, end: step, offset: cursor.offset };
    assert.equal(cursor.header.frame, seen.length);
    assert.equal(isLinked(cursor), true);
    const start = cursor.at + 16;
    seen.push(Buffer.from(cursor.buffer.subarray(start, start + cursor.header.bodyLength)));
  }
}

test("a walk meets every frame with its body and link, whatever their sizes, and ends where only zeros follow", () => {
  fc.assert(
    fc.property(bodies, fc.nat(3_000), (several, zeros) => {
      const whole = segmentOf(several);
      const { seen, end, offset } = walk(memoryFile(Buffer.concat([whole, Buffer.alloc(zeros)])));
      assert.equal(end, "end");
      assert.equal(offset, whole.length);
      assert.deepEqual(
        seen,
        several.map((body) => Buffer.from(body)),
      );
    }),
    { numRuns: runsOf(40) },
  );
});

test("a segment cut at any byte gives the frames before the cut, and says that the rest is torn", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 60 }), { minLength: 1, maxLength: 6 }),
      fc.nat(),
      (several, cut) => {
        const whole = segmentOf(several);
        const length = 40 + (cut % (whole.length - 40));
        const { seen, end, offset } = walk(memoryFile(whole.subarray(0, length)));
        assert.ok(seen.length < several.length);
        assert.ok(offset <= length);
        const rest = whole.subarray(offset, length);
        assert.equal(end, rest.some((byte) => byte !== 0) ? "torn" : "end");
        const tail = examineTail(memoryFile(whole.subarray(0, length)), offset, seen.length);
        assert.equal(tail.damage, null, "an interrupted write explains every cut");
        assert.ok(tail.length <= rest.length);
      },
    ),
  );
});

test("a changed byte in a frame that others follow is no interrupted write", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { minLength: 2, maxLength: 6 }),
      fc.nat(),
      (several, where) => {
        const whole = segmentOf(several);
        const body = several[0] ?? new Uint8Array(1);
        const changed = Buffer.from(whole);
        const at = 40 + 16 + (where % body.length);
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
        const cursor = openCursor(memoryFile(changed));
        assert.equal(cursor?.next(), "frame");
        assert.equal(cursor !== undefined && isLinked(cursor), false);
        assert.notEqual(examineTail(memoryFile(changed), 40, 0).damage, null);
      },
    ),
  );
});

test("a walk that looks again sees what the writer has added meanwhile", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 90 }), { minLength: 1, maxLength: 5 }),
      fc.nat(),
      (several, cut) => {
        const whole = segmentOf(several);
        const file = memoryFile(whole.subarray(0, 40 + (cut % (whole.length - 40))));
        const cursor = openCursor(file);
        assert.ok(cursor);
        let frames = 0;
        while (cursor.next() === "frame") frames++;
        file.set(whole);
        cursor.again();
        while (cursor.next() === "frame") frames++;
        assert.equal(frames, several.length);
      },
    ),
  );
});

test("what does not start as a segment does is none", () => {
  assert.equal(openCursor(memoryFile(Buffer.alloc(0))), undefined);
  assert.equal(openCursor(memoryFile(Buffer.alloc(100))), undefined);
  assert.equal(openCursor(memoryFile(MAGIC)), undefined);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const cursor = openCursor(memoryFile(Buffer.concat([MAGIC, GENESIS_LINK, bytes])));
      assert.ok(cursor);
      for (let steps = 0; cursor.next() === "frame"; steps++) assert.ok(steps < 300);
    }),
  );
});

test("the last byte that is not zero is found from either side of any place", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, from) => {
      const file = memoryFile(Buffer.from(bytes));
      const expected = bytes.reduce((last, byte, index) => (byte !== 0 && index >= from ? index : last), -1);
      assert.equal(lastNonZero(file, Math.min(from, bytes.length), bytes.length), expected);
    }),
  );
  // It looks at blocks: the byte stands at the edges of each.
  const bytes = Buffer.alloc(1_200_000);
  const file = memoryFile(bytes);
  for (const place of [0, 65_535, 65_536, 65_537, 151_423, 151_424, 1_048_576, 1_199_999]) {
    bytes[place] = 1;
    assert.equal(lastNonZero(file, 0, bytes.length), place);
    assert.equal(lastNonZero(file, place + 1, bytes.length), -1);
    bytes[place] = 0;
  }
  assert.equal(lastNonZero(file, 0, bytes.length), -1);
});

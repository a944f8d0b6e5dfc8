import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../../../src/kernel/failure.ts";
import { createMultipartParser } from "./parse.ts";

interface Part {
  readonly header: string;
  readonly content: Buffer;
}

/** Feeds the body in pieces that end at the given offsets. */
function parse(body: Buffer, boundary: string, cuts: readonly number[] = []): readonly Part[] {
  const parts: Part[] = [];
  let header = "";
  let content: Buffer[] = [];
  const parser = createMultipartParser(boundary, {
    beginPart(block) {
      header = block.toString();
      content = [];
    },
    data: (bytes) => void content.push(Buffer.from(bytes)),
    endPart: () => void parts.push({ header, content: Buffer.concat(content) }),
  });
  let from = 0;
  for (const cut of [...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length]) {
    parser.push(body.subarray(from, cut));
    from = cut;
  }
  parser.finish();
  return parts;
}

function write(parts: readonly Part[], boundary: string): Buffer {
  return Buffer.concat([
    ...parts.flatMap(({ header, content }) => [
      Buffer.from(`--${boundary}\r\n${header}\r\n\r\n`),
      content,
      Buffer.from("\r\n"),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
}

const boundaries = fc.stringMatching(/^[A-Za-z0-9'+_.-]{1,20}$/);
/** Content made of what delimiters are made of, which is what could confuse a search for them. */
const tricky = fc
  .array(fc.constantFrom("\r", "\n", "\r\n", "-", "--", "\r\n--", "X", "XX", "x"), { maxLength: 30 })
  .map((list) => Buffer.from(list.join("")));
const contents = fc.oneof(
  tricky,
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);
const parts = fc.array(
  fc.record({ header: fc.constantFrom("A: 1", "B: 2\r\nC: 3"), content: contents }, { noNullPrototype: true }),
  {
    maxLength: 4,
  },
);

test("what was written is read back, however the bytes are cut on the way", () => {
  fc.assert(
    fc.property(boundaries, parts, fc.array(fc.nat(), { maxLength: 12 }), (boundary, list, cuts) => {
      fc.pre(!list.some(({ content }) => `\r\n${content.toString("latin1")}`.includes(`\r\n--${boundary}`)));
      assert.deepEqual(parse(write(list, boundary), boundary, cuts), list);
    }),
    { numRuns: 600 },
  );
});

test("a body cut into single bytes means the same", () => {
  const list = [{ header: "A: 1", content: Buffer.from("\r\n--X\r\r\n-\r\n--") }];
  const body = write(list, "XX");
  assert.deepEqual(
    parse(
      body,
      "XX",
      Array.from(body, (_, index) => index),
    ),
    list,
  );
});

test("whether damaged bytes are accepted does not depend on how they are cut", () => {
  const outcome = (body: Buffer, cuts: readonly number[]): unknown => {
    try {
      return parse(body, "XX", cuts);
    } catch (error) {
      assert.ok(error instanceof Denied && error.code === "multipart_malformed", String(error));
      return error.code;
    }
  };
  fc.assert(
    fc.property(
      parts,
      fc.nat(),
      fc.constantFrom(0x0d, 0x0a, 0x2d, 0x58, 0x00),
      fc.array(fc.nat(), { maxLength: 8 }),
      (list, where, byte, cuts) => {
        const body = write(list, "XX");
        body[where % body.length] = byte;
        assert.deepEqual(outcome(body, cuts), outcome(body, []));
      },
    ),
    { numRuns: 600 },
  );
});

test("a preamble, an epilogue, padding and every truncation are refused", () => {
  const good = write([{ header: "A: 1", content: Buffer.from("data") }], "XX").toString();
  const refused = (text: string): void => {
    assert.throws(() => parse(Buffer.from(text), "XX"), { code: "multipart_malformed" }, JSON.stringify(text));
  };
  for (const text of [
    `\r\n${good}`,
    `x${good}`,
    `${good}x`,
    `${good}\r\n`,
    good.replace("XX\r\n", "XX \r\n"),
    good.replace("XX\r\n", "XX\n"),
  ]) {
    refused(text);
  }
  // Two spellings of the end are known: with and without the last line end.
  for (let length = 0; length < good.length - 2; length++) refused(good.slice(0, length));
  assert.equal(parse(Buffer.from(good.slice(0, -2)), "XX").length, 1);
  refused(good.slice(0, -1));
});

test("nothing but a header or a possible delimiter is held back", () => {
  let delivered = 0;
  const parser = createMultipartParser("XX", {
    beginPart: () => {},
    data(bytes) {
      delivered += bytes.length;
    },
    endPart: () => {},
  });
  parser.push(Buffer.from("--XX\r\nA: 1\r\n\r\n"));
  parser.push(Buffer.alloc(65_536, "a"));
  assert.equal(delivered, 65_536);
  parser.push(Buffer.from("\r\n--"));
  assert.equal(delivered, 65_536);
  parser.push(Buffer.from("XY"));
  assert.equal(delivered, 65_542);
  assert.throws(
    () =>
      createMultipartParser("XX", { beginPart: () => {}, data: () => {}, endPart: () => {} }).push(
        Buffer.from(`--XX\r\n${"a".repeat(3000)}`),
      ),
    {
      code: "multipart_malformed",
    },
  );
});

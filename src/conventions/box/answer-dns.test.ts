import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { createNames } from "./answer-dns.ts";

function ask(name: string, type: number): Buffer {
  const labels = name.split(".").flatMap((label) => [label.length, ...Buffer.from(label, "latin1")]);
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1]);
}

const addressOf = (answer: Buffer | null): string => [...(answer ?? Buffer.alloc(4)).subarray(-4)].join(".");

test("a name has one address of 198.18.0.0/15 for the whole run, whatever its letters' case", () => {
  const names = createNames();
  const first = names.answer(ask("api.acme.example", 1));
  assert.equal(first?.readUInt16BE(0), 0x1234);
  assert.equal(first?.readUInt16BE(6), 1);
  assert.match(addressOf(first), /^198\.1[89]\./);
  assert.equal(addressOf(names.answer(ask("API.Acme.example", 1))), addressOf(first));
  for (const other of ["bpi.acme.example", "apj.acme.example", "api.acme.examplf", "api.acme"])
    assert.notEqual(addressOf(names.answer(ask(other, 1))), addressOf(first), other);
});

test("an answer says that it has authority, repeats whether recursion was asked for, and carries one record", () => {
  const query = ask("api.acme.example", 1);
  const answer = createNames().answer(query) ?? Buffer.alloc(0);
  const counts = [1, 1, 0, 0].flatMap((count) => [0, count]);
  assert.deepEqual([...answer.subarray(0, 12)], [0x12, 0x34, 0x85, 0x80, ...counts]);
  assert.deepEqual(answer.subarray(12, query.length), query.subarray(12));
  // The name of the question, an address of the internet, for five seconds, four bytes of it.
  assert.deepEqual([...answer.subarray(query.length)], [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 198, 18, 0, 1]);
  query.writeUInt8(0, 2);
  assert.equal(createNames().answer(query)?.readUInt8(2), 0x84);
});

test("names are counted through all of the range, and share its last address past it", () => {
  const names = createNames();
  const address = (at: number) => addressOf(names.answer(ask(`n${at}.example`, 1)));
  const found = Array.from({ length: defaults.boxNames + 2 }, (_, at) => address(at + 1));
  assert.deepEqual([found[255], found[256], found[65_535]], ["198.18.1.0", "198.18.1.1", "198.19.0.0"]);
  assert.deepEqual(found.slice(-4), ["198.19.255.253", "198.19.255.254", "198.19.255.254", "198.19.255.254"]);
  assert.equal(address(defaults.boxNames), "198.19.255.254");
  assert.equal(address(1), "198.18.0.1");
});

test("a name of the longest label and a datagram of the largest size are read, and one byte more of either is not", () => {
  const answers = (query: Buffer): boolean => createNames().answer(query) !== null;
  assert.ok(answers(ask("a".repeat(63), 1)));
  assert.equal(answers(ask("a".repeat(64), 1)), false);
  const root = Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
  assert.ok(answers(root));
  assert.equal(answers(root.subarray(0, -1)), false);
  const padded = (length: number): Buffer => Buffer.concat([root], length);
  assert.ok(answers(padded(defaults.boxDatagramBytes)));
  assert.equal(answers(padded(defaults.boxDatagramBytes + 1)), false);
});

test("a question that is cut off anywhere is not answered", () => {
  const query = ask("api.acme.example", 1);
  for (let length = 0; length < query.length; length++)
    assert.equal(createNames().answer(query.subarray(0, length)), null, `${length} bytes`);
});

test("other questions are answered with nothing, so that the tool goes on at once", () => {
  for (const type of [28, 65, 16, 255]) {
    const answer = createNames().answer(ask("api.acme.example", type));
    assert.equal(answer?.readUInt16BE(6), 0);
    assert.equal((answer?.readUInt8(3) ?? 1) & 0x0f, 0);
  }
});

test("answers, other operations and several questions are not answered", () => {
  const query = ask("a.example", 1);
  for (const [at, value] of [
    [2, 0x80],
    [2, 0x28],
    [5, 2],
    [5, 0],
  ] as const) {
    const changed = Buffer.from(query);
    changed.writeUInt8(value, at);
    assert.equal(createNames().answer(changed), null);
  }
});

test("whatever comes, an answer repeats the question and is no longer than it and one record", () => {
  const near = fc.tuple(fc.nat(40), fc.nat(255)).map(([at, value]) => {
    const query = ask("api.acme.example", 1);
    if (at < query.length) query.writeUInt8(value, at);
    return query;
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 600 }), near), (bytes) => {
      const answer = createNames().answer(bytes);
      return answer === null || (answer.length <= bytes.length + 16 && answer.readUInt16BE(4) === 1);
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
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
  assert.notEqual(addressOf(names.answer(ask("other.example", 1))), addressOf(first));
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

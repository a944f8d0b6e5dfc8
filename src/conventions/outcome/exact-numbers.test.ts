import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import { hasExactNumbers, parseExactly } from "./exact-numbers.ts";

test("an integer that would be read as another one is found, wherever it stands and however it is signed", () => {
  const lost = [
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "1152921504606846976",
    "1e999",
    "-1E+400",
  ];
  const kept = [
    "9007199254740991",
    "-9007199254740991",
    "9007199254740992",
    "0",
    "-0",
    "1e100",
    "0.12345678901234567890",
  ];
  const places = ["N", "[1,N]", '{"a":{"b": [ N ]}}', '{"a\\"":"\\\\","id":N,"b":2}', ' \n[\t"é",N\r]'];
  for (const place of places) {
    for (const number of lost) assert.equal(hasExactNumbers(place.replace("N", number)), false, number);
    for (const number of kept) assert.equal(hasExactNumbers(place.replace("N", number)), true, number);
  }
});

test("digits in a text are no number", () => {
  for (const text of ['"12345678901234567890"', '{"9007199254740993":"\\"9007199254740993\\\\"}', '["a 1e999",1]'])
    assert.ok(hasExactNumbers(text), text);
});

test("a text whose numbers are exact means the same when it is read and written again", () => {
  const number = fc.oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.bigInt({ min: 2n ** 53n - 9n, max: 2n ** 53n + 9n }).map(String),
    fc.tuple(fc.integer(), fc.integer({ min: -500, max: 500 })).map(([digits, power]) => `${digits}e${power}`),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  );
  const { json } = fc.letrec<{ json: string }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      number,
      fc
        .string({ unit: fc.constantFrom("9", "1234567890123456", '"', "\\", "e", "-", "é") })
        .map((text) => JSON.stringify(text)),
      fc.array(tie("json"), { maxLength: 4 }).map((items) => `[ ${items.join(" ,")}]`),
      fc
        .uniqueArray(fc.tuple(fc.string(), tie("json")), { maxLength: 4, selector: ([name]) => name })
        .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(",")}}`),
    ),
  }));
  fc.assert(
    fc.property(json, (text) => {
      let exact = true;
      // The engine's own tokens, as an oracle.
      const read = (_name: string, value: unknown, { source }: { source?: string } = {}) => {
        if (typeof value === "number" && source !== undefined) {
          const again = JSON.stringify(value);
          const whole = /^-?[0-9]+$/.test(source);
          exact &&= again !== "null" && (!whole || BigInt(again.includes("e") ? value : again) === BigInt(source));
        }
        return value;
      };
      JSON.parse(text, read as never);
      if (hasExactNumbers(text)) assert.ok(exact, text);
      // Nothing is handed on as text for nothing, but where the shortest writing of a double has other digits.
      else assert.ok(!exact || /[0-9]{17}/.test(text), text);
    }),
    { numRuns: runsOf(8_000) },
  );
});

test("what is read exactly has the text of every number that would come out as another one, and no other", () => {
  const text =
    '{"a":[9007199254740993,-12345678901234567890,1e400],"b":9007199254740991,"c":"9007199254740993","d":0.1}';
  assert.deepEqual(parseExactly(text), {
    a: ["9007199254740993", "-12345678901234567890", "1e400"],
    ...{ b: 9007199254740991, c: "9007199254740993", d: 0.1 },
  });
  assert.throws(() => parseExactly('{"a":9007199254740993'), SyntaxError);
});

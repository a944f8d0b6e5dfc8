import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Code } from "../../../../src/kernel/codes.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import { parseJson, parseJsonValue } from "./parse.ts";

function refusal(text: string | Buffer, depth?: number): { code: Code; offset: unknown; path: string | undefined } {
  try {
    parseJson(Buffer.from(text), depth === undefined ? {} : { depth });
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return { code: error.code, offset: error.extra["offset"], path: error.errors[0]?.path };
  }
  assert.fail(`${text} was accepted`);
}

function parse(text: string): unknown {
  return JSON.parse(JSON.stringify(parseJsonValue(Buffer.from(text))));
}

test("omitted, null and empty string are three different states", () => {
  const value = parseJsonValue(Buffer.from('{"a":null,"b":""}')) as Record<string, unknown>;
  assert.deepEqual([value["a"], value["b"], value["c"]], [null, "", undefined]);
});

test("__proto__ is a name like any other and no name is inherited", () => {
  const value = parseJsonValue(Buffer.from('{"__proto__":{"admin":true},"a":1}')) as Record<string, unknown>;
  assert.deepEqual(Object.keys(value), ["__proto__", "a"]);
  assert.equal(value["admin"], undefined);
  assert.equal(value["toString"], undefined);
  assert.equal("constructor" in value, false);
  assert.equal(Object.hasOwn(Object.prototype, "admin"), false);
});

test("a repeated name is refused however it is spelled, at its own offset and path", () => {
  assert.deepEqual(refusal('{"a":1,"a":2}'), { code: "json_duplicate_member", offset: 7, path: "/a" });
  assert.deepEqual(refusal('{"a":1,"\\u0061":2}'), { code: "json_duplicate_member", offset: 7, path: "/a" });
  assert.deepEqual(refusal('[0,{"x":{"é/~":1,"\\u00e9\\/~":2}}]'), {
    ...{ code: "json_duplicate_member", offset: 18, path: "/1/x/é~1~0" },
  });
  assert.equal(refusal('{"\\ud83d\\ude00":1,"😀":2}').code, "json_duplicate_member");
  assert.equal(refusal('{"toString":1,"toString":2}').code, "json_duplicate_member");
  assert.equal(refusal('{"1":1,"1":2}').code, "json_duplicate_member");
});

test("names that only look alike are different names", () => {
  assert.deepEqual(parse('{"A":1,"a":2,"":3," ":4,"\\u0000":5}'), { A: 1, a: 2, "": 3, " ": 4, "\u0000": 5 });
  assert.equal(Object.keys(parse('{"\\u00e9":1,"e\\u0301":2}') as object).length, 2);
});

test("the offset counts bytes and the pointer names the place", () => {
  assert.deepEqual(refusal('{"é":[1,x]}'), { code: "json_malformed", offset: 9, path: "/é/1" });
  assert.deepEqual(refusal('{"a":1} x'), { code: "json_malformed", offset: 8, path: "" });
  assert.deepEqual(refusal('{"a" 1}'), { code: "json_malformed", offset: 5, path: "/a" });
  assert.deepEqual(refusal('[{"b":[true,{"c":"\\q"}]}]'), { code: "json_malformed", offset: 18, path: "/0/b/1/c" });
  assert.deepEqual(refusal(Buffer.from([0x5b, 0x22, 0x61, 0xff])), { code: "json_malformed", offset: 3, path: "" });
  assert.deepEqual(refusal(""), { code: "json_malformed", offset: 0, path: "" });
  assert.equal(refusal(`{"${"n".repeat(5000)}":x}`).path?.length, 257);
});

test("a byte order mark, UTF-16 and ill-formed UTF-8 are refused where they stand", () => {
  assert.equal(refusal(Buffer.from([0xef, 0xbb, 0xbf, 0x31])).offset, 0);
  assert.equal(refusal(Buffer.from("[1]", "utf16le")).offset, 1);
  for (const bytes of [
    [0x80],
    [0xc0, 0x80],
    [0xc1, 0xbf],
    [0xc2],
    [0xe0, 0x9f, 0xbf],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x8f, 0xbf, 0xbf],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xe2, 0x82],
    [0xff],
  ]) {
    const text = Buffer.concat([Buffer.from('"ok'), Buffer.from(bytes), Buffer.from('"')]);
    assert.deepEqual(refusal(text), { code: "json_malformed", offset: 3, path: "" }, bytes.join());
  }
});

test("depth is limited before the stack is", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  assert.doesNotThrow(() => parseJson(Buffer.from(nested(32))));
  assert.deepEqual(refusal(nested(33)).code, "json_too_deep");
  assert.equal(refusal("[".repeat(1_000_000)).code, "json_too_deep");
  assert.equal(refusal('{"a":'.repeat(1_000_000)).code, "json_too_deep");
  assert.equal(refusal("[[]]", 1).code, "json_too_deep");
});

test("integers are exact or refused", () => {
  assert.equal(parse("9007199254740991"), 9_007_199_254_740_991);
  assert.equal(parse("-9007199254740991"), -9_007_199_254_740_991);
  assert.equal(parse("999999999999999"), 999_999_999_999_999);
  for (const text of [
    "9007199254740992",
    "-9007199254740992",
    "9007199254740993",
    "10000000000000000",
    "1".repeat(400),
  ]) {
    assert.equal(refusal(text).code, "json_number_out_of_range", text);
  }
  for (const text of ["1e400", "-1e400", "1.0e999", "1e-400", "0.00001e-330"]) {
    assert.equal(refusal(text).code, "json_number_out_of_range", text);
  }
  assert.equal(parse("0e-400"), 0);
  assert.equal(parse("5e-324"), 5e-324);
});

test("an integer written as a fraction is told apart from one written plainly", () => {
  const { value, spelling } = parseJson(Buffer.from('{"a":1.0,"b":[1,1e2,-0,1.5],"c":{"d":10E-1,"e":10}}'));
  const { a, b, c, ...rest } = value as Record<string, object>;
  assert.ok(typeof a === "number" && b !== undefined && c !== undefined && Object.keys(rest).length === 0);
  assert.equal(spelling.isFloat(value as object, "a"), true);
  assert.deepEqual(
    [0, 1, 2, 3].map((index) => spelling.isFloat(b, index)),
    [false, true, true, false],
  );
  assert.deepEqual(
    ["d", "e"].map((name) => spelling.isFloat(c, name)),
    [true, false],
  );
  assert.equal(parseJson(Buffer.from("1.0")).spelling.isFloat(undefined, ""), true);
  assert.equal(parseJson(Buffer.from("1")).spelling.isFloat(undefined, ""), false);
  assert.equal(parseJson(Buffer.from("[1.0]")).spelling.isFloat(undefined, ""), false);
});

test("strict JSON agrees with JSON.parse on what both accept", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const expected: unknown = JSON.parse(text);
      let found: unknown;
      try {
        found = parseJsonValue(Buffer.from(text));
      } catch (error) {
        assert.ok(error instanceof Denied);
        // Of the texts that fast-check writes, these alone may be refused.
        assert.ok(["json_number_out_of_range", "json_duplicate_member"].includes(error.code), error.message);
        return;
      }
      assert.equal(JSON.stringify(found), JSON.stringify(expected));
    }),
    { numRuns: 500 },
  );
});

test("what strict JSON accepts of damaged text, JSON.parse reads the same way", () => {
  const damage = fc.tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(255));
  fc.assert(
    fc.property(damage, ([text, where, byte]) => {
      const bytes = Buffer.from(text);
      bytes[where % bytes.length] = byte;
      let found: unknown;
      try {
        found = parseJsonValue(bytes);
      } catch (error) {
        assert.ok(error instanceof Denied, String(error));
        return;
      }
      assert.equal(JSON.stringify(found), JSON.stringify(JSON.parse(bytes.toString("utf8"))));
    }),
    { numRuns: 2000 },
  );
});

test("any bytes at all are accepted or denied, never anything else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        parseJson(bytes);
      } catch (error) {
        assert.ok(error instanceof Denied, String(error));
      }
    }),
    { numRuns: 1000 },
  );
});

test("a name longer than the name table keeps, or in a slot taken by another, is still itself", () => {
  const names = Array.from({ length: 500 }, (_, index) => `${"n".repeat(index % 50)}${index}`);
  const text = `[${[0, 1].map((value) => `{${names.map((name) => `"${name}":${value}`).join()}}`).join()}]`;
  assert.deepEqual(parse(text), JSON.parse(text));
});

test("an integer that a double would round is refused, or is its digits where a reader takes those", () => {
  const long = ["9007199254740992", "-9007199254740993", "12345678901234567890"];
  for (const digits of long) {
    const bytes = Buffer.from(`{"a":[${digits}],"b":1}`);
    assert.throws(() => parseJson(bytes), Denied);
    assert.deepEqual({ ...(parseJson(bytes, { longIntegersAsText: true }).value as object) }, { a: [digits], b: 1 });
  }
  const kept = parseJson(Buffer.from("[9007199254740991,-0,1.5]"), { longIntegersAsText: true }).value;
  assert.deepEqual(kept, [9007199254740991, -0, 1.5]);
  assert.throws(() => parseJson(Buffer.from("1e400"), { longIntegersAsText: true }), Denied);
});

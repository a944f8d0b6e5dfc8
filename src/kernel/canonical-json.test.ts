import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { canonicalJson, digestBytes, digestJson, digestText } from "./canonical-json.ts";
import { Fault } from "./failure.ts";
import type { JsonValue } from "./json.ts";

const folder = resolve(import.meta.dirname, "../../../shared/vectors/jcs-rfc8785/testdata");
const skip = existsSync(folder) ? false : `no public vectors at ${folder}`;

test("the six published pairs of RFC 8785 come out byte for byte", { skip }, () => {
  const names = readdirSync(join(folder, "input"));
  assert.equal(names.length, 6);
  for (const name of names) {
    const input = JSON.parse(readFileSync(join(folder, "input", name), "utf8")) as JsonValue;
    assert.equal(canonicalJson(input), readFileSync(join(folder, "output", name), "utf8"), name);
  }
});

test("any JSON value has the canonical form that the reference package gives it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      if (!text.isWellFormed() || /\\ud[89a-f]/.test(text)) return;
      assert.equal(canonicalJson(value as JsonValue), canonicalize(value));
    }),
    { numRuns: 500 },
  );
});

test("members are sorted by UTF-16 code units, not by code points", () => {
  assert.equal(canonicalJson({ "\u{1F600}": 1, "\uFB33": 2 }), '{"\u{1F600}":1,"\uFB33":2}');
});

test("the order in which members were set never changes the digest, and any value does", () => {
  assert.equal(digestJson({ a: 1, b: [true, null] }), digestJson({ b: [true, null], a: 1 }));
  assert.notEqual(digestJson({ a: 1 }), digestJson({ a: "1" }));
  assert.notEqual(digestJson({ a: null }), digestJson({}));
  assert.equal(digestJson({ a: 1 }), digestText('{"a":1}'));
  assert.equal(digestText("é"), digestBytes(Buffer.from("é")));
  assert.match(digestText(""), /^sha256:e3b0c442/);
});

test("what has no canonical form is a fault, not a guess", () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800", { "\udc00": 1 }, [["\ud800"]]]) {
    assert.throws(() => canonicalJson(value as JsonValue), Fault);
  }
  assert.throws(() => canonicalJson(undefined as unknown as JsonValue), Fault);
  assert.throws(() => canonicalJson(1n as unknown as JsonValue), Fault);
});

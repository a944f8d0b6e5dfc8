import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { Denied } from "../../../kernel/failure.ts";
import { documentLimits, readDocument } from "./read-document.ts";

const vectors = join(import.meta.dirname, "../../../../../shared/vectors/json-test-suite/test_parsing");

function read(name: string, text: string): unknown {
  return readDocument(name, Buffer.from(text)).root;
}

function refusal(name: string, bytes: string | Uint8Array, limits = documentLimits): string {
  try {
    readDocument(name, Buffer.from(bytes), limits);
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return `${error.code} ${error.message}`;
  }
  assert.fail("it was read");
}

const places: readonly (readonly [what: string, file: string, text: string, expected: RegExp])[] = [
  ["a duplicate member", "a.json", '{\n "a": 1,\n "a": 2\n}', /^document_malformed a\.json:3:2: the member "a"/],
  ["a missing comma", "a.json", '{\n "a": 1\n "b": 2\n}', /^document_malformed a\.json:3:2: a comma/],
  ["an unfinished text", "a.json", '{"a": "b', /^document_malformed a\.json:1:7: the text ends/],
  ["a control character", "a.json", '{"a": "b\u0001"}', /^document_malformed a\.json:1:9: a control/],
  ["a bad escape", "a.json", '{"a": "\\x"}', /^document_malformed a\.json:1:7/],
  ["half a surrogate pair", "a.json", '{"a": "\\ud800"}', /^document_malformed a\.json:1:7: a string holds half/],
  ["a number without end", "a.json", '{"a": 1e999}', /^document_malformed a\.json:1:7: a number is too large/],
  ["something after the end", "a.json", "{} {}", /^document_malformed a\.json:1:4: something follows/],
  ["a duplicate key in YAML", "a.yaml", "a: 1\nb: 2\na: 3\n", /^document_malformed a\.yaml:3:1: the member "a"/],
  ["a custom tag", "a.yaml", "a: !run x\n", /^document_malformed a\.yaml:1:\d+/],
  ["a merge key", "a.yaml", "a: &x {b: 1}\nc:\n  <<: *x\n", /^document_malformed a\.yaml:3:3: merge keys/],
  ["a key that is a list", "a.yaml", "? [a, b]\n: 1\n", /^document_malformed a\.yaml:1:3: a member name/],
  [
    "an anchor that holds itself",
    "a.yaml",
    "a: &x\n  b: *x\n",
    /^document_malformed a\.yaml:2:6: the anchor x holds itself/,
  ],
  ["an unknown anchor", "a.yaml", "a: *nothing\n", /^document_malformed a\.yaml:1:4/],
  ["a number that is not finite", "a.yaml", "a: .inf\n", /^document_malformed a\.yaml:1:4: a number must be finite/],
  ["a second document", "a.yaml", "a: 1\n---\nb: 2\n", /^document_malformed a\.yaml/],
  ["tabs as indentation", "a.yaml", "a:\n\tb: 1\n", /^document_malformed a\.yaml:2:1/],
];

for (const [what, file, text, expected] of places) {
  test(`${what} is refused with its line and column`, () => {
    assert.match(refusal(file, text), expected);
  });
}

test("a text that is not UTF-8 is refused", () => {
  assert.match(refusal("a.json", Buffer.from([0x7b, 0xff, 0x7d])), /^document_malformed a\.json is not UTF-8/);
});

test("size, depth and number of values are bounded in both formats", () => {
  const small = { bytes: 1_000, depth: 5, nodes: 20 };
  assert.match(refusal("a.json", " ".repeat(1_001), small), /^document_too_large/);
  for (const file of ["a.json", "a.yaml"]) {
    assert.match(refusal(file, "[".repeat(6) + "]".repeat(6), small), /^document_too_large .*levels/);
    assert.match(refusal(file, `[${"1,".repeat(30)}1]`, small), /^document_too_large .*values/);
  }
});

test("nesting of a hundred thousand levels is refused without using up the stack", () => {
  for (const text of ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000), "? ".repeat(100_000)]) {
    assert.match(refusal("a.yaml", text), /^document_(too_large|malformed)/);
  }
  assert.match(refusal("a.json", "[".repeat(100_000)), /^document_too_large/);
});

test("aliases share their target and count as often as they are named", () => {
  assert.deepEqual(JSON.stringify(read("a.yaml", "a: &x [1, 2]\nb: *x\n")), '{"a":[1,2],"b":[1,2]}');
  const bomb = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"];
  for (let level = 1; level < 12; level++)
    bomb.push(`a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}*a${level - 1}]`);
  assert.match(refusal("a.yaml", bomb.join("\n")), /^document_too_large .*values/);
});

test("a name such as __proto__ is a name like any other", () => {
  for (const file of ["a.json", "a.yaml"]) {
    const root = read(file, '{"__proto__": {"admin": true}, "constructor": 1}') as Record<string, unknown>;
    assert.deepEqual(Object.keys(root), ["__proto__", "constructor"]);
    assert.equal(({} as Record<string, unknown>)["admin"], undefined);
  }
});

test("statuses that YAML reads as numbers stay the names that were typed", () => {
  assert.deepEqual(Object.keys(read("a.yaml", "200: a\n4XX: b\n1e3: c\nnull: d\n") as object), [
    "200",
    "4XX",
    "1e3",
    "null",
  ]);
});

test("every object knows where it began", () => {
  const source = readDocument("a.json", Buffer.from('{\n  "a": {\n    "b": [ {} ]\n  }\n}'));
  const root = source.root as { readonly a: { readonly b: readonly object[] } };
  assert.deepEqual(source.positionOf(root.a), { line: 2, column: 8 });
  assert.deepEqual(source.positionOf(root.a.b[0] ?? {}), { line: 3, column: 12 });
  const yaml = readDocument("a.yaml", Buffer.from("a:\n  b:\n    - c: 1\n"));
  assert.deepEqual(yaml.positionOf((yaml.root as typeof root).a.b[0] ?? {}), { line: 3, column: 7 });
});

test("what JSON.stringify writes is read back the same", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      if (!text.isWellFormed() || /\\ud[89a-f]/i.test(text)) return;
      assert.equal(JSON.stringify(read("a.json", text)), JSON.stringify(JSON.parse(text)));
    }),
  );
});

test("JSON and YAML of one value are read as one value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4, noUnicodeString: true }), (value) => {
      const yaml = stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0 });
      assert.equal(JSON.stringify(read("a.yaml", yaml)), JSON.stringify(JSON.parse(JSON.stringify(value))));
    }),
    { numRuns: 60 },
  );
});

test("no text makes the readers fail in another way than by refusing", () => {
  const alphabet = fc.constantFrom(..."{}[]:,\"'&*!|>%@`-?#\n\t \\aé0.e+");
  fc.assert(
    fc.property(fc.string({ unit: alphabet, maxLength: 60 }), fc.constantFrom("a.json", "a.yaml"), (text, file) => {
      try {
        readDocument(file, Buffer.from(text));
      } catch (error) {
        assert.ok(error instanceof Denied, String(error));
      }
    }),
    { numRuns: 500 },
  );
});

test("the public JSON vectors are taken and refused as they say", {
  skip: existsSync(vectors) ? false : "the JSON vectors are not here",
}, () => {
  for (const file of readdirSync(vectors)) {
    const bytes = readFileSync(join(vectors, file));
    const accept = (): unknown => readDocument("v.json", bytes, { ...documentLimits, depth: 600 });
    if (file.startsWith("y_") && !file.includes("duplicated_key")) assert.doesNotThrow(accept, file);
    if (file.startsWith("n_") || file.includes("duplicated_key")) assert.throws(accept, Denied, file);
  }
});

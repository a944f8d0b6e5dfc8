import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../kernel/testing/any-text.ts";
import { documentKey, readOperations, readTokens } from "./document.ts";

test("blanks, commas and comments make no other document; anything else does", () => {
  const document = 'query Q($a: [Int!] = [1, 2]) { thing(id: "a, b") { ...f x: y } }';
  const same = '# hello\nquery  Q (\n$a:[Int!]=[1 2]){thing(id:"a, b"),{...f,x:y}}';
  assert.equal(documentKey(document), documentKey(same));
  assert.notEqual(documentKey(document), documentKey(document.replace("a, b", "a b")), "a string is not looked into");
  assert.notEqual(documentKey(document), documentKey(document.replace("x: y", "y")));
});

test("a document has its operations, and whether they change anything", () => {
  assert.deepEqual(readOperations("{ a }"), [{ kind: "query", name: null }]);
  assert.deepEqual(readOperations("fragment f on T { a } mutation M($i: I!) { do(i: $i) { id } } query { b }"), [
    { kind: "mutation", name: "M" },
    { kind: "query", name: null },
  ]);
  for (const text of ["mutation", "query Q { a", "query Q { a } }", "type T { a: Int }", "query Q { a(b: (}) }"])
    assert.equal(readOperations(text)?.length ?? null, null, text);
});

test("block strings and what is no token are not read", () => {
  for (const text of ['{ a(b: """x""") }', "{ a } ;", '{ a(b: "x', "{ a } %"])
    assert.equal(readTokens(text), null, text);
});

test("any text is read to its end, or not at all", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const tokens = readTokens(text);
      if (tokens !== null) assert.deepEqual(readTokens(tokens.join(" ")), tokens);
    }),
  );
});

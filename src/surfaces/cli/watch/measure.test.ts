import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printable } from "../../../kernel/display.ts";
import { anyText } from "../../../kernel/testing/any-text.ts";
import { clipText, findMixedWord, runsRightToLeft, widthOf, wrapText } from "./measure.ts";

test("everything but ASCII counts as two columns, so that no row is longer than the screen", () => {
  assert.equal(widthOf("abc"), 3);
  assert.equal(widthOf("東京"), 4);
  assert.equal(widthOf("é"), 2);
});

test("a line is cut into rows without losing a character", () => {
  assert.deepEqual(wrapText("abcdef", 4, 2), ["abcd", "ef"]);
  assert.deepEqual(wrapText("one two three", 9, 9), ["one two ", "three"]);
  assert.deepEqual(wrapText("", 9, 9), [""]);
  assert.deepEqual(wrapText("東京都", 4, 4), ["東京", "都"]);
});

test("a mark stays on the letter it sits on", () => {
  for (const row of wrapText("aaae\u0301e\u0301", 4, 4)) assert.doesNotMatch(row, /^\p{M}/u);
});

test("whatever the text, the rows hold all of it and none is too wide", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 200 }).map(printable);
  fc.assert(
    fc.property(text, fc.integer({ min: 12, max: 40 }), fc.integer({ min: 12, max: 40 }), (line, first, rest) => {
      const rows = wrapText(line, first, rest);
      assert.equal(rows.join(""), line);
      const atomic = (row: string): boolean => [...row].filter((point) => !/^\p{M}$/u.test(point)).length <= 1;
      for (const [index, row] of rows.entries()) {
        assert.ok(widthOf(row) <= (index === 0 ? first : rest) || atomic(row), row);
      }
    }),
  );
});

test("what does not fit is cut, and that is said", () => {
  assert.equal(clipText("abcdef", 6), "abcdef");
  assert.equal(clipText("abcdefg", 6), "abcd..");
  assert.equal(clipText("abcdefg", 1), "");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(30), (text, columns) => {
      assert.ok(widthOf(clipText(text, columns)) <= columns);
    }),
  );
});

test("whatever slipped through, nothing that acts or hides is written to the screen", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const safe = printable(text);
      assert.match(safe, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
      assert.equal(printable(safe), safe);
    }),
  );
});

test("letters that run from the right are noticed", () => {
  assert.ok(runsRightToLeft("a \u05d0 b"));
  assert.ok(runsRightToLeft("\u0627"));
  assert.ok(!runsRightToLeft("abc 東京 цена"));
});

test("a word that mixes Latin with look-alikes is found, whole words of a script are not", () => {
  assert.equal(findMixedWord("pay \u0430pi now"), "\u0430pi");
  assert.equal(findMixedWord("g\u03bfogle"), "g\u03bfogle");
  for (const text of ["цена 5 EUR", "Tシャツ 東京", "naïve café", "api", "e\u0301a"])
    assert.equal(findMixedWord(text), null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { showBounded, showIdentifier, showText, tameAside, tameLine } from "./display.ts";
import { anyText } from "./testing/any-text.ts";

const ESCAPE = "\u001b";
const RTL_OVERRIDE = "\u202e";

test("plain text of any script stays as it is", () => {
  for (const text of ["deploy 42 to production", "Grüße, Ünal", "東京の請求書", "цена: 5 €", "naïve café", "a  b"]) {
    assert.equal(showText(text), text);
  }
});

test("control characters, line breaks and terminal escapes are written out", () => {
  assert.equal(showText(`a${ESCAPE}[2Jb`), "a\\u{1b}[2Jb");
  assert.equal(showText("a\r\nb\tc\0"), "a\\u{d}\\u{a}b\\u{9}c\\u{0}");
  assert.equal(showText("\u0085\u009b31m\u007f"), "\\u{85}\\u{9b}31m\\u{7f}");
  assert.equal(showText("\u2028\u2029"), "\\u{2028}\\u{2029}");
});

test("bidirectional and invisible characters are written out", () => {
  assert.equal(showText(`evil${RTL_OVERRIDE}txt.exe`), "evil\\u{202e}txt.exe");
  for (const point of [
    0x200b, 0x200d, 0x2066, 0x061c, 0xfeff, 0x00ad, 0x034f, 0x115f, 0x3164, 0xffa0, 0xfe0f, 0xe0041, 0x2800,
  ]) {
    assert.equal(showText(`a${String.fromCodePoint(point)}b`), `a\\u{${point.toString(16)}}b`);
  }
});

test("blanks that are not a space, and private or unassigned characters, are written out", () => {
  for (const point of [0xa0, 0x2003, 0x3000, 0x202f, 0xe000, 0x10fffe, 0x0378]) {
    assert.equal(showText(`a${String.fromCodePoint(point)}b`), `a\\u{${point.toString(16)}}b`);
  }
  assert.equal(showText("a\ud800b"), "a\\u{d800}b");
});

test("padding cannot push the rest out of sight", () => {
  assert.equal(showText("yes     no"), "yes  \\u{20}\\u{20}\\u{20}no");
  assert.equal(showText(" a "), "\\u{20}a\\u{20}");
});

test("marks cannot pile up over their neighbours", () => {
  assert.equal(showText("e\u0301"), "e\u0301");
  assert.equal(showText("e\u0301\u0302\u0303"), "e\u0301\u0302\\u{303}");
  assert.equal(showText("\u0301e"), "\\u{301}e");
});

test("a text cannot pretend to be an escape of ours", () => {
  assert.equal(showText("\\u{202e}"), "\\\\u{202e}");
  assert.notEqual(showText("\\u{202e}"), showText(RTL_OVERRIDE));
});

test("an identifier shows look-alike letters as what they are", () => {
  assert.equal(showIdentifier("аpi.example"), "\\u{430}pi.example");
  assert.equal(showIdentifier("api.example"), "api.example");
  assert.equal(showIdentifier("e\u0301"), "e\\u{301}");
});

test("what is cut is said", () => {
  assert.equal(showBounded("abcdef", 6), "abcdef");
  assert.equal(showBounded("abcdefgh", 6), "abcdef [and 2 more characters]");
});

test("whatever goes in, what comes out is visible, in one line, and tells two texts apart", () => {
  const texts = anyText({ maxLength: 40 });
  fc.assert(
    fc.property(texts, (text) => {
      const shown = showText(text);
      assert.ok(shown.isWellFormed());
      assert.match(shown, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
      assert.doesNotMatch(shown, /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u);
      assert.match(showIdentifier(text), /^[ -~]*$/);
    }),
  );
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      if (one !== other) assert.notEqual(showText(one), showText(other));
      assert.equal(showIdentifier(one) === showIdentifier(other), one === other);
    }),
  );
});

test("a record on its way to a screen stays the same record, and its controls are written out", () => {
  const record = { a: "\u009b31m\u202e\u200b\u007f\u2028é東😀", b: String.fromCodePoint(0xe0041) };
  const shown = tameLine(JSON.stringify(record));
  assert.equal(shown, '{"a":"\\u009b31m\\u202e\\u200b\\u007f\\u2028é東😀","b":"\\udb40\\udc41"}');
  assert.deepEqual(JSON.parse(shown), record);
  assert.equal(tameLine("\ufff9a\ufffbb\ufffa\u2800\u{1d173}"), "\\ufff9a\\ufffbb\\ufffa\\u2800\\ud834\\udd73");
  assert.equal(tameLine(`${ESCAPE}[1mbold${ESCAPE}[0m`), `${ESCAPE}[1mbold${ESCAPE}[0m`);
  assert.equal(
    tameAside(`${ESCAPE}[1mbold\r\u009b8m\u202e é東 \\ok`),
    "\\u001b[1mbold\\u000d\\u009b8m\\u202e é東 \\ok",
  );
  assert.equal(tameAside(shown), shown, "what was tamed before stays as it is");
});

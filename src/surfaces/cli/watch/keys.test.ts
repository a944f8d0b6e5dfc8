import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createKeyDecoder, type Key } from "./keys.ts";

const ESC = "\u001b";

function decode(...chunks: readonly string[]): readonly Key[] {
  const decoder = createKeyDecoder();
  return chunks.flatMap((chunk) => decoder.feed(Buffer.from(chunk, "utf8")));
}

function names(keys: readonly Key[]): readonly string[] {
  return keys.map((key) => (key.kind === "text" ? key.point : key.kind));
}

test("letters, arrows, pages and editing keys are told apart", () => {
  assert.deepEqual(names(decode(`a j${ESC}[A${ESC}[B${ESC}OA${ESC}[5~${ESC}[6~\r\u007f\u0015\u000c\u0003`)), [
    "a",
    " ",
    "j",
    "up",
    "down",
    "up",
    "pageUp",
    "pageDown",
    "enter",
    "backspace",
    "kill",
    "redraw",
    "interrupt",
  ]);
});

test("what is pasted is never keys", () => {
  const keys = decode(`${ESC}[200~aaaa\rq${ESC}[201~d`);
  assert.deepEqual(names(keys), ["paste", "d"]);
  const [first] = keys;
  assert.ok(first?.kind === "paste" && first.bytes.toString() === "aaaa\rq");
});

test("a paste is known however it is cut, and its end is found after escapes inside it", () => {
  const whole = `${ESC}[200~x${ESC}${ESC}[20${ESC}[201~a`;
  for (let cut = 1; cut < whole.length; cut++) {
    assert.deepEqual(names(decode(whole.slice(0, cut), whole.slice(cut))), ["paste", "a"], String(cut));
  }
});

test("a paste that never ends takes no key but the one that quits", () => {
  assert.deepEqual(names(decode(`${ESC}[200~`, "aaa\r", "y", "\u0003")), ["interrupt"]);
});

test("Alt with a letter, unknown sequences and answers of the terminal leave no letters behind", () => {
  assert.deepEqual(names(decode(`${ESC}a${ESC}[1;5A${ESC}[?62;a${ESC}]0;aaa\u0007${ESC}Paaa${ESC}\\${ESC}[200z`)), []);
});

test("an escape that nothing follows is the key itself, half a sequence is nothing", () => {
  const decoder = createKeyDecoder();
  assert.deepEqual(decoder.feed(Buffer.from(ESC)), []);
  assert.equal(decoder.waiting, true);
  assert.deepEqual(names(decoder.flush()), ["escape"]);
  decoder.feed(Buffer.from(`${ESC}[12`));
  assert.deepEqual(decoder.flush(), []);
  assert.equal(decoder.waiting, false);
  assert.deepEqual(names(decoder.feed(Buffer.from("a"))), ["a"]);
});

test("letters of every script arrive whole, broken and invisible bytes do not", () => {
  assert.deepEqual(names(decode("é東😀")), ["é", "東", "😀"]);
  const decoder = createKeyDecoder();
  assert.deepEqual(names(decoder.feed(Buffer.from([0xc3, 0x61, 0xff, 0x80, 0xf4, 0xbf, 0xbf, 0xbf]))), ["a"]);
  assert.deepEqual(names(decode("\u202e\u200b\u0085")), []);
});

test("whatever bytes come, in whatever pieces, the keys are the same and each is one visible character or a name", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(60), (bytes, cut) => {
      const whole = createKeyDecoder().feed(bytes);
      const decoder = createKeyDecoder();
      const parts = [...decoder.feed(bytes.subarray(0, cut)), ...decoder.feed(bytes.subarray(cut))];
      assert.deepEqual(parts, whole);
      for (const key of whole) if (key.kind === "text") assert.match(key.point, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u);
    }),
  );
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { refuses, refusesLater, secret } from "../testing/fixture.ts";
import { generatePassphrase } from "./generate.ts";
import { checkPin, decidePin, FRESH_PIN_GUARD, makePin, needsPassphrase } from "./pin.ts";
import { checkPassphrase } from "./strength.ts";
import { WORDS } from "./words.ts";

const random = { bytes: (length: number) => randomBytes(length) };

test("the list has 2,048 different words of three to seven plain letters: eleven bits a word", () => {
  assert.equal(WORDS.length, 2_048);
  assert.equal(new Set(WORDS).size, 2_048);
  for (const word of WORDS) assert.match(word, /^[a-z]{3,7}$/);
});

test("a generated passphrase is six words of the list and strong enough for itself", () => {
  for (let round = 0; round < 50; round++) {
    const phrase = generatePassphrase(random);
    checkPassphrase(phrase);
    const words = phrase.use((bytes) => bytes.toString("latin1").split("-"));
    assert.equal(words.length, defaults.passphraseWords);
    for (const word of words) assert.ok(WORDS.includes(word));
  }
});

test("every two random bytes choose a word, and all words are equally likely", () => {
  const counts = new Map<string, number>();
  for (let value = 0; value < 65_536; value++) {
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16BE(value);
    const word = generatePassphrase({ bytes: () => bytes }, 1).use((phrase) => phrase.toString("latin1"));
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  assert.equal(counts.size, 2_048);
  assert.deepEqual(new Set(counts.values()), new Set([32]));
});

test("a passphrase is measured in characters, not in bytes", () => {
  checkPassphrase(secret("grün-über-öl"));
  refuses(() => checkPassphrase(secret("öäüößÖ")), "passphrase_weak");
  refuses(() => checkPassphrase(secret("")), "passphrase_weak");
  refuses(() => checkPassphrase(secret("abababababababab")), "passphrase_weak");
  refuses(() => checkPassphrase(secret("new\nline-in-the-middle")), "passphrase_weak");
});

test("a PIN is four to twelve digits", async () => {
  for (const pin of ["", "123", "1234567890123", "12a4", "１２３４"]) {
    await refusesLater(makePin(secret(pin), random), "pin_invalid");
  }
  const verifier = await makePin(secret("0042"), random);
  assert.equal(await checkPin(verifier, secret("0042")), true);
  assert.equal(await checkPin(verifier, secret("42")), false);
});

test("five wrong PINs in a row fall back to the passphrase, and then no PIN counts", () => {
  let guard = FRESH_PIN_GUARD;
  for (let left = defaults.pinWrong - 1; left > 0; left--) {
    const outcome = decidePin(guard, false);
    assert.deepEqual(outcome, { kind: "wrong", guard: outcome.guard, left });
    guard = outcome.guard;
  }
  const last = decidePin(guard, false);
  assert.equal(last.kind, "passphrase_needed");
  assert.equal(decidePin(last.guard, true).kind, "passphrase_needed");
});

test("whatever is typed, a PIN is accepted only while fewer than five were wrong since the last right one", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 40 }), (tries) => {
      let guard = FRESH_PIN_GUARD;
      let wrong = 0;
      for (const right of tries) {
        const outcome = decidePin(guard, right);
        assert.equal(outcome.kind === "accepted", right && wrong < defaults.pinWrong);
        wrong = outcome.kind === "accepted" ? 0 : wrong + (wrong < defaults.pinWrong ? 1 : 0);
        assert.equal(needsPassphrase(outcome.guard), wrong >= defaults.pinWrong);
        guard = outcome.guard;
      }
    }),
  );
});

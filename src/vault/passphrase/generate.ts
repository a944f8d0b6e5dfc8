import type { Random } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Secret } from "../../kernel/secret.ts";
import { WORDS } from "./words.ts";

/** Six words of 2,048: 66 bits, which Argon2id makes dear to guess. */
export function generatePassphrase(random: Random, words: number = defaults.passphraseWords): Secret {
  const picked = Array.from({ length: words }, () => {
    // 2,048 divides 65,536, so every word is equally likely.
    const word = WORDS[random.bytes(2).readUInt16BE() % WORDS.length] ?? "";
    return Buffer.from(word, "latin1");
  });
  const phrase = Buffer.concat(picked.flatMap((word, index) => (index === 0 ? [word] : [Buffer.of(0x2d), word])));
  return Secret.take(phrase);
}

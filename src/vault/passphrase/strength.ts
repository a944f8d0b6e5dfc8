import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";

/** A floor, not a meter: long enough, and not one character repeated. The generated six words are the good choice. */
export function checkPassphrase(passphrase: Secret): void {
  const { characters, distinct, wellFormed } = passphrase.use((bytes) => ({
    // Bytes that continue a UTF-8 sequence are no characters of their own.
    characters: bytes.reduce((count, byte) => count + ((byte & 0xc0) === 0x80 ? 0 : 1), 0),
    distinct: new Set(bytes).size,
    wellFormed: bytes.length <= defaults.secretBytes && !bytes.some((byte) => byte < 0x20 || byte === 0x7f),
  }));
  if (wellFormed && characters >= defaults.passphraseCharacters && distinct >= 5) return;
  throw new Denied(
    "passphrase_weak",
    `A passphrase is ${defaults.passphraseCharacters} characters or more, without control characters, and not one sign repeated. gw init offers to make one.`,
  );
}

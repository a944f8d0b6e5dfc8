import { randomBytes } from "node:crypto";
import { replaceFile } from "../files/atomic-write.ts";
import { withLock } from "../files/lock.ts";

/** A writer to be killed: replaces a file for ever with pages of one letter, and says each letter that it has written. */
const [path = "", lock = ""] = process.argv.slice(2);
const random = { bytes: (length: number) => randomBytes(length) };

await withLock(lock, () => {
  for (let round = 0; ; round++) {
    const letter = String.fromCharCode(97 + (round % 26));
    replaceFile(path, Buffer.from(letter.repeat(200_000)), random);
    process.stdout.write(letter);
  }
});

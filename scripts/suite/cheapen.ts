const CHEAP = { kdfMemoryKib: "64", kdfPasses: "1", kdfLanes: "1" };
/** The test of the real cost keeps it. */
const REAL = /\/src\/vault\/kdf\.test\.ts$/;

/** Whether this process runs tests with a cheap key derivation. */
export const cheap = !process.argv.some((word) => REAL.test(word));

/** The text of kernel/defaults with the floor of Argon2id taken down; a number that is no longer there is an error. */
export function cheapen(text: string): string {
  return Object.entries(CHEAP).reduce((changed, [name, value]) => {
    const parts = changed.split(new RegExp(`\\b${name}: [0-9_]+`));
    if (parts.length !== 2) throw new Error(`kernel/defaults does not say ${name} once`);
    return parts.join(`${name}: ${value}`);
  }, text);
}

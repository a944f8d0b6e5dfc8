import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Secret } from "../../../kernel/secret.ts";
import { readPrivateFile } from "../../../vault/files/private-file.ts";
import type { CliIo } from "../io.ts";

export async function readPassphrase(
  options: { readonly passphraseFile?: string },
  io: CliIo,
  prompt: string,
): Promise<Secret> {
  if (options.passphraseFile === undefined) return await io.askSecret(prompt);
  const secret = readSecretFile(options.passphraseFile);
  io.err("warning: a passphrase in a file can be read by every program of this user.");
  return secret;
}

/** One line of a private file, without its end of line. */
export function readSecretFile(path: string): Secret {
  const bytes = readPrivateFile(path, defaults.secretBytes);
  if (bytes === undefined) throw new Denied("secret_missing", `There is no file ${path}.`);
  let end = bytes.length;
  if (bytes[end - 1] === 0x0a) end--;
  if (bytes[end - 1] === 0x0d) end--;
  const secret = Secret.take(Buffer.from(bytes.subarray(0, end)));
  bytes.fill(0);
  return secret;
}

/** Twice without echo. What cannot be taken is told before it is typed once more; that, and a difference, end the command. */
export async function askTwice(io: CliIo, prompt: string, check: (secret: Secret) => void): Promise<Secret> {
  const first = await io.askSecret(prompt);
  try {
    check(first);
    using second = await io.askSecret("Once more: ");
    if (first.equals(second)) return first;
    throw new Denied("secret_mismatch", "The two differ. Nothing was changed: run the command again.");
  } catch (error) {
    first.wipe();
    throw error;
  }
}

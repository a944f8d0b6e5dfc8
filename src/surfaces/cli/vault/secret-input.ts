import { fstatSync, readSync } from "node:fs";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Secret } from "../../../kernel/secret.ts";
import type { CredentialKind, Vault } from "../../../vault/vault.ts";
import type { CliIo } from "../io.ts";
import { readSecretFile } from "./ask-secret.ts";
import type { VaultOptions } from "./session.ts";

export interface SecretOptions extends VaultOptions {
  /** A descriptor that the shell opened, such as `3` in `3< file`. */
  readonly secretFd?: number;
  readonly keyPassphraseFile?: string;
}

/** From a descriptor, from standard input when that is no terminal, or from a prompt without echo. */
export async function takeSecret(
  label: string,
  kind: CredentialKind,
  options: SecretOptions,
  io: CliIo,
): Promise<Secret> {
  if (options.secretFd !== undefined) return readDescriptor(options.secretFd);
  const what = kind === "ssh" ? `Private key of ${label} (better: < FILE)` : `Secret of ${label}`;
  return await io.readSecret(`${what}: `);
}

/** Before anything is asked for: what else the command line says of the secret holds. */
export function requireSecretOptions(
  kind: CredentialKind,
  options: SecretOptions & { readonly username?: string },
): void {
  requireDescriptor(options);
  requireUsername(kind, options.username);
  if (kind === "ssh" && options.keyPassphraseFile !== undefined) readSecretFile(options.keyPassphraseFile).wipe();
}

/** A descriptor that was named is one that was opened. */
function requireDescriptor({ secretFd: descriptor }: SecretOptions): void {
  if (descriptor === undefined) return;
  if (!Number.isSafeInteger(descriptor) || descriptor < 3 || descriptor > 1_024) {
    throw new Denied(
      "credential_invalid",
      "--secret-fd is the number of a descriptor that your shell opened, 3 or more.",
    );
  }
  try {
    fstatSync(descriptor);
  } catch {
    throw notReadable(descriptor);
  }
}

function readDescriptor(descriptor: number): Secret {
  const bytes = Buffer.alloc(defaults.secretBytes + 1);
  let length = 0;
  try {
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
  } catch {
    throw notReadable(descriptor);
  }
  if (length > defaults.secretBytes)
    throw new Denied("secret_too_large", `A secret is at most ${defaults.secretBytes} bytes.`);
  const end = bytes[length - 1] === 0x0a ? length - 1 : length;
  const secret = Secret.take(Buffer.from(bytes.subarray(0, end)));
  bytes.fill(0);
  return secret;
}

function notReadable(descriptor: number): Denied {
  return new Denied(
    "credential_invalid",
    `Descriptor ${descriptor} cannot be read: open it in the shell, ${descriptor}< FILE.`,
  );
}

function requireUsername(kind: CredentialKind, username: string | undefined): void {
  if (username !== undefined && (kind !== "basic" || username.includes(":")))
    throw new Denied("credential_invalid", "--username is for --kind basic, and holds no colon.");
}

export function withUsername(kind: CredentialKind, username: string | undefined, given: Secret): Secret {
  requireUsername(kind, username);
  if (username === undefined) return given.copy();
  return given.use((bytes) => Secret.take(Buffer.concat([Buffer.from(`${username}:`, "utf8"), bytes])));
}

/** Tries without a passphrase first; asks only when the key turns out to be encrypted. */
export async function withKeyPassphrase(
  kind: CredentialKind,
  options: SecretOptions,
  io: CliIo,
  work: (keyPassphrase: Secret | undefined) => Promise<Vault>,
): Promise<Vault> {
  if (kind === "ssh" && options.keyPassphraseFile !== undefined) {
    using phrase = readSecretFile(options.keyPassphraseFile);
    return await work(phrase);
  }
  try {
    return await work(undefined);
  } catch (error) {
    if (!(error instanceof Denied) || error.code !== "ssh_key_passphrase_needed") throw error;
    using phrase = await io.askSecret("Passphrase of the private key: ");
    return await work(phrase);
  }
}

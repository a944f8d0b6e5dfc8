import { accessSync, constants } from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { SERVICE_KEY_BYTES } from "../service-key.ts";
import { replaceFile } from "./atomic-write.ts";
import { type Ownership, ownFile, readPlainFile, readPrivateFile, systemdFile } from "./private-file.ts";

/**
 * The service key for a machine without a person: one line, `gw-service-key-v1 VAULT_ID BASE64URL`. It opens the
 * credentials and nothing else: whoever has it can neither approve, nor read the log, nor bind a credential anew.
 */
const MARK = "gw-service-key-v1";
const LINE = /^gw-service-key-v1 (vlt_[0-9a-z]{26}) ([A-Za-z0-9_-]{43})\n$/;
const FILE_BYTES = 256;

export const SYSTEMD_CREDENTIAL = "gw-service-key";

export function writeKeyFile(path: string, vaultId: string, serviceKey: Secret, random: Random): void {
  const line = serviceKey.use((bytes) => Buffer.from(`${MARK} ${vaultId} ${bytes.toString("base64url")}\n`, "latin1"));
  try {
    replaceFile(path, line, random);
  } finally {
    line.fill(0);
  }
}

/** What is there already is replaced only where it is a key file as well, and a new one has to have a folder. */
export function requireKeyFileOrNone(path: string): void {
  accessSync(dirname(path), constants.W_OK);
  const there = readPlainFile(path, FILE_BYTES, ({ size }) => {
    if (size > FILE_BYTES) notOurs(path);
  });
  if (there === undefined) return;
  const ours = LINE.test(there.toString("latin1"));
  there.fill(0);
  if (!ours) notOurs(path);
}

function notOurs(path: string): never {
  throw new Denied("key_file_malformed", `${path} is there and is no key file: it stays as it is. Name another file.`);
}

export function readKeyFile(path: string, vaultId: string): Secret {
  return readKey(path, vaultId, ownFile());
}

/** `credentialsFolder` is what systemd gives in CREDENTIALS_DIRECTORY. */
export function readSystemdCredential(credentialsFolder: string, vaultId: string): Secret {
  return readKey(join(credentialsFolder, SYSTEMD_CREDENTIAL), vaultId, systemdFile());
}

function readKey(path: string, vaultId: string, ownership: Ownership): Secret {
  const bytes = readPrivateFile(path, FILE_BYTES, ownership);
  if (bytes === undefined) throw new Denied("key_file_malformed", `There is no key file at ${path}.`);
  try {
    const [, id, key = ""] = LINE.exec(bytes.toString("latin1")) ?? [];
    if (id === undefined) throw new Denied("key_file_malformed", `${path} does not hold a service key.`);
    if (id !== vaultId) throw new Denied("service_key_wrong", `${path} is the key of another vault, ${id}.`);
    const secret = Secret.take(Buffer.from(key, "base64url"));
    if (secret.byteLength !== SERVICE_KEY_BYTES)
      throw new Denied("key_file_malformed", `${path} does not hold a service key.`);
    return secret;
  } finally {
    bytes.fill(0);
  }
}

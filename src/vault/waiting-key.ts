import type { KeyObject } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { replaceFile } from "./files/atomic-write.ts";
import { readPrivateFile } from "./files/private-file.ts";
import { privateKeyOf, RAW_KEY_BYTES } from "./keys.ts";

/**
 * What a locked gateway asks with on a hub: it can sign that it waits, and open how to reach the database. It opens no
 * credential, and signs no word of the log. It stands in a private file of the host, outside the sealed state, and only where
 * an operator signed for that.
 */
export interface WaitingKey {
  /** Ed25519. */
  readonly signing: KeyObject;
  /** X25519. */
  readonly reading: KeyObject;
}

/** Never part of a backup: who has a copy could ask in this gateway's place. */
export const WAITING_KEY_FILE = "waiting.key";
const MARK = "gw-waiting-key-v1";
const LINE = /^gw-waiting-key-v1 (vlt_[0-9a-z]{26}) ([A-Za-z0-9_-]{86})\n$/;
const FILE_BYTES = 256;

/** Null where there is none. */
export function readWaitingKey(folder: string, vaultId: string): WaitingKey | null {
  const path = join(folder, WAITING_KEY_FILE);
  const bytes = readPrivateFile(path, FILE_BYTES);
  if (bytes === undefined) return null;
  try {
    const [, id, key = ""] = LINE.exec(bytes.toString("latin1")) ?? [];
    if (id !== vaultId) {
      throw new Denied(
        "key_file_malformed",
        `${path} does not hold a key of this vault. Remove it, and say gw hub join once more.`,
      );
    }
    using raw = Secret.take(Buffer.from(key, "base64url"));
    return raw.use((both) => ({
      signing: privateKeyOf("ed25519", both.subarray(0, RAW_KEY_BYTES)),
      reading: privateKeyOf("x25519", both.subarray(RAW_KEY_BYTES)),
    }));
  } finally {
    bytes.fill(0);
  }
}

/** Never the one that is there: whoever has a copy of that is shut out by joining once more. */
export function drawWaitingKey(folder: string, vaultId: string, random: Random): WaitingKey {
  using raw = Secret.take(random.bytes(2 * RAW_KEY_BYTES));
  const line = raw.use((bytes) => Buffer.from(`${MARK} ${vaultId} ${bytes.toString("base64url")}\n`, "latin1"));
  try {
    replaceFile(join(folder, WAITING_KEY_FILE), line, random);
  } finally {
    line.fill(0);
  }
  return readWaitingKey(folder, vaultId) ?? drawWaitingKey(folder, vaultId, random);
}

export function removeWaitingKey(folder: string): void {
  rmSync(join(folder, WAITING_KEY_FILE), { force: true });
}

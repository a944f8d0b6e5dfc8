import { argon2, createSecretKey, type KeyObject } from "node:crypto";
import { defaults } from "../kernel/defaults.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";

export interface KdfParameters {
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
  readonly salt: Buffer;
}

export const KDF_SALT_BYTES = 16;

/** What new slots get: the floor. A file may ask for more, up to the ceiling. */
export function currentKdf(salt: Buffer): KdfParameters {
  return { memoryKib: defaults.kdfMemoryKib, passes: defaults.kdfPasses, lanes: defaults.kdfLanes, salt };
}

/** Below the floor is a downgrade, above the ceiling a way to stop this machine. Checked before anything is derived. */
export function checkKdf({ memoryKib, passes, lanes, salt }: KdfParameters): void {
  const floor = memoryKib >= defaults.kdfMemoryKib && passes >= defaults.kdfPasses && lanes >= defaults.kdfLanes;
  const ceiling =
    memoryKib <= defaults.kdfMemoryKibMax && passes <= defaults.kdfPassesMax && lanes <= defaults.kdfLanesMax;
  if (floor && ceiling && salt.length === KDF_SALT_BYTES) return;
  throw new Denied(
    "kdf_parameters_refused",
    `The vault asks for Argon2id with ${memoryKib} KiB, ${passes} passes and ${lanes} lanes; gw takes ${defaults.kdfMemoryKib} KiB, ` +
      `${defaults.kdfPasses} and ${defaults.kdfLanes} at least, ${defaults.kdfMemoryKibMax} KiB, ${defaults.kdfPassesMax} and ` +
      `${defaults.kdfLanesMax} at most. Someone else wrote this file: restore a copy you trust.`,
  );
}

/** 32 bytes from a passphrase or PIN, on the thread pool. */
export function deriveBytes(phrase: Secret, parameters: KdfParameters): Promise<Buffer> {
  checkKdf(parameters);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const message = phrase.use(normalPhrase);
  argon2(
    "argon2id",
    {
      message,
      nonce: parameters.salt,
      memory: parameters.memoryKib,
      passes: parameters.passes,
      parallelism: parameters.lanes,
      tagLength: 32,
    },
    (error, tag) => {
      message.fill(0);
      if (error) reject(new Fault(`Argon2id failed: ${error.message}`));
      else resolve(tag);
    },
  );
  return promise;
}

export async function deriveKey(phrase: Secret, parameters: KdfParameters): Promise<KeyObject> {
  const bytes = await deriveBytes(phrase, parameters);
  try {
    return createSecretKey(bytes);
  } finally {
    bytes.fill(0);
  }
}

/** Two keyboards spell one accented letter in two ways; NFC makes them one. ASCII stays out of JavaScript strings. */
function normalPhrase(bytes: Buffer): Buffer {
  if (bytes.every((byte) => byte < 0x80)) return Buffer.from(bytes);
  return Buffer.from(bytes.toString("utf8").normalize("NFC"), "utf8");
}

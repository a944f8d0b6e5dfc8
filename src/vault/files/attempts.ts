import { join } from "node:path";
import { type Clock, isoTime, type Random, type Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import { type OpenOperator, unlockOperator } from "../operator.ts";
import { filePage, parsePage, shapeOf } from "../shape.ts";
import type { Vault } from "../vault.ts";
import { replaceFile } from "./atomic-write.ts";
import { withLock } from "./lock.ts";
import { readPrivateFile } from "./private-file.ts";

/** Wrong passphrases since the last right one. One small file: it cannot grow. */
export interface FailedTries {
  readonly failed: number;
  readonly lastAt: string | null;
}

export interface UnlockPorts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly sleep: Sleep;
  readonly random: Random;
}

export interface Unlocked {
  readonly operator: OpenOperator;
  /** What went wrong before this try, for the person to see and for the log. */
  readonly before: FailedTries;
}

const NAME = "unlock-attempts.json";
const NONE: FailedTries = { failed: 0, lastAt: null };
const FILE_BYTES = 1_024;

/** Free for a few tries, then twice as long each time, up to a cap. */
export function tryDelayMs(failed: number): number {
  const slowed = failed - defaults.passphraseFreeTries;
  return slowed < 0 ? 0 : Math.min(1_000 * 2 ** Math.min(slowed, 30), defaults.passphraseDelayCapMs);
}

/**
 * Unlocks, with the tries counted in GW_HOME. The try is counted before it is made, so that killing us does not win
 * one. Whoever can delete the file or take vault.json away can guess without it: then Argon2id is what slows them.
 */
export async function unlockCounted(
  folder: string,
  vault: Vault,
  name: string | undefined,
  passphrase: Secret,
  { clock, sleep, random }: UnlockPorts,
): Promise<Unlocked> {
  const path = join(folder, NAME);
  const lock = join(folder, "unlock.lock");
  const before = await withLock(lock, () => {
    const tries = readTries(path);
    replaceFile(path, pageOf({ failed: tries.failed + 1, lastAt: isoTime(clock.wallMs()) }), random);
    return tries;
  });
  await sleep.sleep(tryDelayMs(before.failed));
  try {
    const operator = await unlockOperator(vault, name, passphrase);
    await withLock(lock, () => replaceFile(path, pageOf(NONE), random));
    return { operator, before };
  } catch (error) {
    if (!(error instanceof Denied) || error.code !== "passphrase_wrong") throw error;
    throw new Denied("passphrase_wrong", error.message, {
      extra: { ...error.extra, failed_attempts: before.failed + 1, next_delay_ms: tryDelayMs(before.failed + 1) },
    });
  }
}

/** A file that is not ours counts as the slowest case: damage must not buy tries. */
export function readTries(path: string): FailedTries {
  const bytes = readPrivateFile(path, FILE_BYTES);
  if (bytes === undefined) return NONE;
  const shape = shapeOf("vault_malformed", NAME);
  try {
    const tries = shape.members(parsePage(bytes.toString("utf8"), shape), "", ["failed", "last_at"]);
    const lastAt = tries.last_at === null ? null : shape.text(tries.last_at, "/last_at", 24);
    return { failed: shape.integer(tries.failed, "/failed", 0, Number.MAX_SAFE_INTEGER - 1), lastAt };
  } catch {
    return { failed: 1_000, lastAt: null };
  }
}

function pageOf({ failed, lastAt }: FailedTries): Buffer {
  return Buffer.from(filePage({ failed, last_at: lastAt }), "utf8");
}

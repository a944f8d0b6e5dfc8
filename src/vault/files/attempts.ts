import { closeSync, constants, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Clock, isoTime, type Random, type Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import { type OpenOperator, unlockOperator } from "../operator.ts";
import { filePage, parsePage, shapeOf } from "../shape.ts";
import type { Vault } from "../vault.ts";
import { isAlive } from "./alive.ts";
import { replaceFile } from "./atomic-write.ts";
import { withLock } from "./lock.ts";
import { readPrivateFile } from "./private-file.ts";

/** Wrong passphrases since the last right one. One small file: it cannot grow. */
export interface FailedTries {
  readonly failed: number;
  readonly lastAt: string | null;
}

interface Tries extends FailedTries {
  /** Processes that are trying now, a try each. One that ended without a word has failed. */
  readonly open: readonly number[];
}

export interface UnlockPorts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly sleep: Sleep;
  readonly random: Random;
}

export interface Unlocked {
  readonly operator: OpenOperator;
  /** What went wrong until this try ended, for the person to see and for the log. */
  readonly before: FailedTries;
}

const NAME = "unlock-attempts.json";
const NONE: Tries = { failed: 0, lastAt: null, open: [] };
const FILE_BYTES = 4_096;
/** As many as fit the file; more at once are no person's commands. */
const OPEN_AT_ONCE = 100;
const LARGEST_PID = 4_194_304;

/** Free for a few tries, then twice as long each time, up to a cap. */
export function tryDelayMs(failed: number): number {
  const slowed = failed - defaults.passphraseFreeTries;
  return slowed < 0 ? 0 : Math.min(1_000 * 2 ** Math.min(slowed, 30), defaults.passphraseDelayCapMs);
}

/** What a wrong one costs the next, for the person who types it. */
export function slowerWords(failed: number): string {
  const delayMs = tryDelayMs(failed);
  return delayMs === 0 ? "" : ` The next try takes ${delayMs / 1000} s longer.`;
}

/**
 * Unlocks, with the tries counted in GW_HOME. The try is counted before it is made, so that killing us does not win
 * one, and apart from those that failed: two commands at once are no guess. Whoever can delete the file or take vault.json away can guess without it: then Argon2id is what slows them.
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
  const change = (next: (now: Tries) => Tries): Promise<Tries> =>
    withLock(lock, () => {
      const now = countDead(readTries(path), isoTime(clock.wallMs()));
      keepTries(path, pageOf(next(now)), random);
      return now;
    });
  const begun = await change((now) => ({ ...now, open: [...now.open, process.pid] }));
  await sleep.sleep(tryDelayMs(begun.failed + begun.open.length));
  try {
    const operator = await unlockOperator(vault, name, passphrase);
    return { operator, before: await change(({ open }) => ({ ...NONE, open: ended(open) })) };
  } catch (error) {
    const lastAt = isoTime(clock.wallMs());
    const before = await change(({ failed, open }) => ({ failed: failed + 1, lastAt, open: ended(open) }));
    if (!(error instanceof Denied) || error.code !== "passphrase_wrong") throw error;
    const failed = before.failed + 1;
    throw new Denied("passphrase_wrong", error.message + slowerWords(failed), {
      extra: { ...error.extra, failed_attempts: failed },
    });
  }
}

/**
 * A full disk has no room for a second file, and must not keep an operator from revoking or locking: then the one that is there is
 * written over. A crash halfway leaves a page that counts as the slowest case.
 */
function keepTries(path: string, page: Buffer, random: Random): void {
  try {
    replaceFile(path, page, random);
  } catch (error) {
    if (!writeOver(path, page)) throw error;
  }
}

function writeOver(path: string, page: Buffer): boolean {
  try {
    const descriptor = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (writeSync(descriptor, page, 0, page.length, 0) < page.length) return false;
      ftruncateSync(descriptor, page.length);
      fsyncSync(descriptor);
      return true;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false;
  }
}

function ended(open: readonly number[]): readonly number[] {
  const at = open.indexOf(process.pid);
  return at < 0 ? open : open.toSpliced(at, 1);
}

/** Whoever began a try and is gone did not get in, or would have said so. */
function countDead({ failed, lastAt, open }: Tries, now: string): Tries {
  const alive = open.filter(isAlive).slice(1 - OPEN_AT_ONCE);
  const dead = open.length - alive.length;
  return { failed: failed + dead, lastAt: dead > 0 ? now : lastAt, open: alive };
}

/** A file that is not ours counts as the slowest case: damage must not buy tries. */
export function readTries(path: string): Tries {
  const bytes = readPrivateFile(path, FILE_BYTES);
  if (bytes === undefined) return NONE;
  const shape = shapeOf("vault_malformed", NAME);
  try {
    const tries = shape.members(parsePage(bytes.toString("utf8"), shape), "", ["failed", "last_at"], ["open"]);
    const lastAt = tries.last_at === null ? null : shape.text(tries.last_at, "/last_at", 24);
    return {
      failed: shape.integer(tries.failed, "/failed", 0, Number.MAX_SAFE_INTEGER - 2 * OPEN_AT_ONCE),
      lastAt,
      open: shape.list(tries.open ?? [], "/open", OPEN_AT_ONCE, (pid, where) =>
        shape.integer(pid, where, 1, LARGEST_PID),
      ),
    };
  } catch {
    return { ...NONE, failed: 1_000 };
  }
}

/** In the words of 0.1 while nobody tries: an older program that finds others waits as long as for damage. */
function pageOf({ failed, lastAt, open }: Tries): Buffer {
  return Buffer.from(filePage({ failed, last_at: lastAt, ...(open.length === 0 ? {} : { open: [...open] }) }), "utf8");
}

import { closeSync, constants, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { atPath } from "../../kernel/file-trouble.ts";

/**
 * One writer at a time. The lock is the kernel's (SQLite's exclusive lock on an empty database): it ends with the
 * process however that ends, so there is no stale lock to break.
 */
export async function withLock<Result>(
  path: string,
  work: () => Promise<Result> | Result,
  waitMs: number = defaults.vaultLockWaitMs,
): Promise<Result> {
  // Made here first, because SQLite would let others read it. O_NOFOLLOW refuses a planted link.
  closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW, 0o600));
  const database = atPath(path, () => new DatabaseSync(path, { timeout: waitMs }));
  try {
    atPath(path, () => takeExclusive(database));
    return await work();
  } finally {
    database.close();
  }
}

function takeExclusive(database: DatabaseSync): void {
  const SQLITE_BUSY = 5;
  try {
    // A journal would need room: a full disk must not keep an operator from revoking or locking. Nothing is ever written here.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    if (!(error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY)) throw error;
    throw new Denied("vault_busy", "Another gw process is changing the vault. Try again when it is done.");
  }
}

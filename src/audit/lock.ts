import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Denied } from "../kernel/failure.ts";

/**
 * One writer a folder. The lock is the kernel's (SQLite's exclusive lock on an empty database), so it ends with the
 * process however that ends, holds across containers, and leaves no stale file to reason about.
 */
export const LOCK_NAME = "writer.lock";

export interface WriterLock {
  release(): void;
}

export function takeWriterLock(folder: string): WriterLock {
  const path = join(folder, LOCK_NAME);
  // Made here first, because SQLite would let others read it. Never opened again: closing it would drop the lock.
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    throw isBusy(error) ? new Denied("log_in_use", `another process is writing the log in ${folder}`) : error;
  }
  return {
    release() {
      if (database.isOpen) database.close();
    },
  };
}

/** True while a process holds the lock of this folder. Needs to read the folder, never to write it. */
export function isWriterLive(folder: string): boolean {
  const path = join(folder, LOCK_NAME);
  if (!existsSync(path)) return false;
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    try {
      database.prepare("SELECT 1 FROM sqlite_schema").all();
      return false;
    } finally {
      database.close();
    }
  } catch (error) {
    return isBusy(error);
  }
}

function isBusy(error: unknown): boolean {
  const SQLITE_BUSY = 5;
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}

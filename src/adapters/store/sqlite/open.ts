/**
 * Opens a SQLite file the way the gateway and the reference provider need it: a private regular file, write-ahead log,
 * a stated level of durability.
 */
import { closeSync, constants, lstatSync, openSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied, Fault } from "../../../kernel/failure.ts";
import { atPath, deniedByFiles, isDamagedDatabase } from "../../../kernel/file-trouble.ts";

export interface SqliteOptions {
  /** `full` flushes at every commit; `normal` may lose the last commits in a power cut, never in a crash of ours. */
  readonly synchronous: "full" | "normal";
  readonly busyMs?: number;
}

export interface SqliteFile {
  readonly handle: DatabaseSync;
  /** Runs `work` in one IMMEDIATE transaction without leaving the thread: committed when it returns, undone when it throws. */
  immediate<Result>(work: () => Result): Result;
  close(): void;
}

export function openSqlite(path: string, options: SqliteOptions): SqliteFile {
  claimFile(path);
  const handle = unlessDamaged(path, () => openHandle(path, options));
  return {
    handle,
    immediate: (work) => runImmediate(handle, work),
    close() {
      if (handle.isOpen) handle.close();
    },
  };
}

/** Denied `store_unreadable` where SQLite finds the file damaged meanwhile. */
export function unlessDamaged<Result>(path: string, work: () => Result): Result {
  try {
    return atPath(path, work);
  } catch (error) {
    throw isDamagedDatabase(error) ? (deniedByFiles(error) ?? error) : error;
  }
}

function openHandle(path: string, options: SqliteOptions): DatabaseSync {
  const handle = new DatabaseSync(path, {
    timeout: options.busyMs ?? defaults.sqliteBusyMs,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
    allowExtension: false,
    defensive: true,
  });
  try {
    handle.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    const mode = handle.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
    if (mode !== "wal") throw new Fault(`the state file stays in journal mode ${String(mode)}`);
    handle.exec(`PRAGMA synchronous = ${options.synchronous === "full" ? "FULL" : "NORMAL"}`);
    handle.exec(`PRAGMA journal_size_limit = ${defaults.sqliteWalBytes}`);
    return handle;
  } catch (error) {
    handle.close();
    throw error;
  }
}

function runImmediate<Result>(handle: DatabaseSync, work: () => Result): Result {
  // Joining it would commit with it, or undo it.
  if (handle.isTransaction) throw new Fault("a transaction is already open on this connection");
  handle.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    if (result instanceof Promise) throw new Fault("the work of an immediate transaction must not be asynchronous");
    handle.exec("COMMIT");
    return result;
  } catch (error) {
    if (handle.isTransaction) handle.exec("ROLLBACK");
    throw error;
  }
}

/**
 * Makes the file with mode 0600, or checks the one that is there. An existing file is looked at, never opened here:
 * closing a second descriptor would drop the locks that another connection of this process holds on it.
 */
function claimFile(path: string): void {
  const folder = lstatSync(dirname(path), { throwIfNoEntry: false });
  if (folder === undefined) refuse(path, "its folder does not exist");
  if ((folder.mode & 0o022) !== 0) refuse(path, "others may write in its folder (chmod 700 the folder)");
  for (const side of ["-wal", "-shm", "-journal"]) {
    const found = lstatSync(path + side, { throwIfNoEntry: false });
    if (found !== undefined) check(path + side, found);
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined) check(path, found);
  else closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600));
}

function check(path: string, found: Stats): void {
  if (found.isSymbolicLink()) refuse(path, "it is a symbolic link");
  if (!found.isFile()) refuse(path, "it is not a regular file");
  if (found.nlink > 1) refuse(path, "it has more than one name (hard links)");
  if (found.uid !== process.geteuid?.()) refuse(path, "it belongs to another user");
  if ((found.mode & 0o077) !== 0) refuse(path, "others may read or write it (chmod 600 the file)");
}

function refuse(path: string, why: string): never {
  throw new Denied("store_unsafe", `${path} is not used: ${why}.`);
}

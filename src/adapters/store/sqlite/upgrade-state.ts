import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Denied } from "../../../kernel/failure.ts";
import { findVersion, type Migration, migrate } from "./migrate.ts";
import type { SqliteFile } from "./open.ts";

/**
 * `format` in the home, one line: `gw.home/v1 state N`. It says to an older program, and to the scripts of an older
 * package, that they would not understand what is here. Whatever older programs cannot read is a step of the state's
 * schema, so that one number says it all.
 */
const FORMAT = /^gw\.home\/v1 state ([0-9]{1,6})\n$/;
const FORMAT_BYTES = 200;
const COPIES = "before-upgrade";

/** Undefined where no program has written it yet; null where it is in words that this program does not know. */
export function readFormat(home: string): number | null | undefined {
  let fd: number;
  try {
    fd = openSync(join(home, "format"), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(FORMAT_BYTES);
    const [, found] = FORMAT.exec(bytes.toString("latin1", 0, readSync(fd, bytes))) ?? [];
    return found === undefined ? null : Number(found);
  } finally {
    closeSync(fd);
  }
}

/** Before anything in the home is touched: what a newer program wrote is left alone. */
export function requireKnownFormat(home: string, known: number): void {
  const found = readFormat(home);
  if (found === undefined || (found !== null && found <= known)) return;
  throw new Denied(
    "store_newer",
    `${home} was written by a newer gw (${found === null ? "an unknown format" : `state ${found}`}; this one knows state ${known}). Nothing was changed. Run the newer program, or go back as docs/upgrading.md says.`,
  );
}

/**
 * Brings the state to the last step of its schema. A copy of what is there comes first, then the line that keeps older
 * programs away, then the steps: wherever that is cut short, the state opens again, and the copy is whole or not there.
 */
export function upgradeState(file: SqliteFile, path: string, migrations: readonly Migration[]): void {
  const home = dirname(path);
  const found = findVersion(file, migrations);
  try {
    if (found > 0 && found < migrations.length) keepCopy(file.handle, home, found);
    if (readFormat(home) !== migrations.length) writeFormat(home, migrations.length);
    migrate(file, migrations);
  } catch (error) {
    if (error instanceof Denied) throw error;
    const why = error instanceof Error ? error.message : "unforeseen";
    throw new Denied(
      "migration_failed",
      `The state in ${home} could not be brought from format ${found} to ${migrations.length}: ${why}. What was done is undone or whole; mend the cause (a full disk?) and start again, or go back to the program before.`,
    );
  }
}

function keepCopy(handle: DatabaseSync, home: string, version: number): void {
  const folder = join(home, COPIES);
  mkdirSync(folder, { mode: 0o700, recursive: true });
  const partial = join(folder, "partial.db");
  rmSync(partial, { force: true });
  try {
    // Made before SQLite writes to it, so that its mode is ours from the first byte.
    closeSync(openSync(partial, "wx", 0o600));
    handle.prepare("VACUUM INTO ?").run(partial);
    syncPath(partial);
    renameSync(partial, join(folder, freeName(folder, version)));
    syncPath(folder);
    syncPath(home);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** An earlier copy is never written over: it may be the only one from before. */
function freeName(folder: string, version: number): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? `state-${version}.db` : `state-${version}.${number}.db`;
    if (!existsSync(join(folder, name))) return name;
  }
}

function writeFormat(home: string, version: number): void {
  const next = join(home, ".format.next");
  rmSync(next, { force: true });
  const fd = openSync(next, "wx", 0o600);
  try {
    writeSync(fd, `gw.home/v1 state ${version}\n`);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(next, join(home, "format"));
  syncPath(home);
}

function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

import { closeSync, constants, fsyncSync, openSync, readdirSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";

/** The steps of a durable replacement, as a port: a test makes any one of them fail. */
export interface WriteSteps {
  create(path: string): number;
  write(descriptor: number, bytes: Buffer, from: number): number;
  sync(descriptor: number): void;
  close(descriptor: number): void;
  rename(from: string, to: string): void;
  syncFolder(path: string): void;
  remove(path: string): void;
  list(folder: string): readonly string[];
}

const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

export const nodeSteps: WriteSteps = {
  create: (path) => openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600),
  write: (descriptor, bytes, from) => writeSync(descriptor, bytes, from),
  sync: fsyncSync,
  close: closeSync,
  rename: renameSync,
  syncFolder: (path) => {
    const folder = openSync(path, O_RDONLY | O_DIRECTORY);
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  },
  remove: unlinkSync,
  list: (folder) => readdirSync(folder),
};

/**
 * Replaces a file whole: temporary file, sync, rename, sync of the folder. After a crash at any point the old or the
 * new file is there. Callers hold the lock, so leftovers of an earlier crash are nobody's and go first.
 */
export function replaceFile(path: string, bytes: Buffer, random: Random, steps: WriteSteps = nodeSteps): void {
  const folder = dirname(path);
  const prefix = `.${basename(path)}.`;
  const temporary = join(folder, `${prefix}${random.bytes(8).toString("hex")}.tmp`);
  try {
    for (const name of steps.list(folder)) {
      if (name.startsWith(prefix) && name.endsWith(".tmp")) steps.remove(join(folder, name));
    }
    writeWhole(temporary, bytes, steps);
    steps.rename(temporary, path);
    steps.syncFolder(folder);
  } catch (error) {
    discard(temporary, steps);
    const why = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new Denied(
      "file_not_written",
      `${path} could not be written (${why}). The old file or the new one is in place, never a part.`,
    );
  }
}

function writeWhole(path: string, bytes: Buffer, steps: WriteSteps): void {
  const descriptor = steps.create(path);
  try {
    for (let written = 0; written < bytes.length; ) written += steps.write(descriptor, bytes, written);
    steps.sync(descriptor);
  } finally {
    steps.close(descriptor);
  }
}

function discard(temporary: string, steps: WriteSteps): void {
  try {
    steps.remove(temporary);
  } catch {
    // It was renamed, never made, or goes with the next write.
  }
}

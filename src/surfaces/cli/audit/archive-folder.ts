import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { CUT_NAME } from "../../../audit/cut/cut.ts";
import { segmentName, segmentOf } from "../../../audit/frame/layout.ts";
import { readLogId } from "../../../audit/read/marks.ts";
import { segmentsOf } from "../../../audit/read/place.ts";
import { Denied } from "../../../kernel/failure.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";

const PIECE_BYTES = 1_048_576;

/** Whether what an archive holds goes on with this segment: the one before it is there. */
export function goesOn(target: string, first: number): boolean {
  return existsSync(join(target, segmentName(first - 1)));
}

/**
 * Copies files of a log, durably and each whole or not at all. Nothing that an archive holds is ever replaced by something
 * else: it may be all that is left of another log.
 */
export async function copyDurably(
  folder: string,
  target: string,
  first: number,
  names: readonly string[],
  progress: (done: number) => void,
): Promise<void> {
  makeFolder(target);
  // A folder that holds the part before needs no cut to begin with: it goes on from its own segments.
  const begins = first > 1 && !goesOn(target, first);
  const wanted = begins ? [CUT_NAME, ...names] : names;
  const other = wanted.find((name) => isOther(join(folder, name), join(target, name)));
  const held = readLogId(target);
  const gap = begins && segmentsOf(target).some((segment) => segment < first);
  if (other !== undefined || gap || (held !== null && held !== readLogId(folder)))
    throw new Denied(
      "archive_refused",
      `Nothing was moved: ${target} holds ${other ?? "segments"} of another log, or of a part that this one does not go on from. Use the folder that holds the part before segment ${first}, or an empty one.`,
    );
  let done = 0;
  for (const name of wanted) {
    const to = join(target, name);
    if (!existsSync(to) || segmentOf(name) === undefined) copyWhole(join(folder, name), to);
    sync(to, constants.O_RDONLY);
    done += statSync(to).size;
    progress(done);
    // Whoever ends the command is heard between two files.
    await new Promise((resolve) => setImmediate(resolve));
  }
  syncFolder(target);
  syncFolder(dirname(target));
}

function copyWhole(from: string, to: string): void {
  const made = `${to}.new`;
  rmSync(made, { force: true });
  copyFileSync(from, made, constants.COPYFILE_EXCL);
  sync(made, constants.O_RDONLY);
  renameSync(made, to);
}

/** A seed may be wrapped anew for the same reader: it belongs to its segment, and opens nothing else. */
function isOther(from: string, to: string): boolean {
  return !to.endsWith(".seed") && existsSync(to) && !isSame(from, to);
}

function isSame(from: string, to: string): boolean {
  const [one, other] = [openSync(from, constants.O_RDONLY), openSync(to, constants.O_RDONLY)];
  try {
    const pieces = [Buffer.alloc(PIECE_BYTES), Buffer.alloc(PIECE_BYTES)] as const;
    for (;;) {
      const got = readSync(one, pieces[0]);
      if (readSync(other, pieces[1]) !== got || pieces[0].compare(pieces[1], 0, got, 0, got) !== 0) return false;
      if (got === 0) return true;
    }
  } finally {
    closeSync(one);
    closeSync(other);
  }
}

function sync(path: string, flags: number): void {
  const fd = openSync(path, flags);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function syncFolder(path: string): void {
  sync(path, constants.O_RDONLY | constants.O_DIRECTORY);
}

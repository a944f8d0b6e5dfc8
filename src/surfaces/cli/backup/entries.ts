import { closeSync, constants, fstatSync, fsyncSync, openSync, readdirSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";

/** One file of a home in a backup: `length:u32 {"path":…,"size":…} bytes`. Nothing but plain files is taken along. */
interface Entry {
  readonly path: string;
  readonly size: number;
}

/** What belongs to running processes (a try that is open here would count as a wrong passphrase there) or to this very host, or is made anew at every start. The state comes as a snapshot of its own. */
const LEFT_OUT =
  /^(ssh(\/|$)|state\.db|unlock-attempts\.json$|waiting\.key$|before-restore-|\.restore-)|\.(sock|lock(-journal)?|new|tmp)$/;
/** Inside a home: what a restoration replaced, and what one is being made of. */
export const ASIDE = "before-restore-";
export const MAKING = ".restore-";
const NAME = /^[A-Za-z0-9._@+-]{1,200}$/;
const PIECE_BYTES = 1_048_576;
const DEEPEST = 6;

/** The state last: it is copied when everything else is in. */
export function* readEntries(home: string, copyState: () => string | null): Generator<Buffer> {
  for (const path of listFiles(home, "", 0)) yield* readEntry(join(home, path), path);
  const state = copyState();
  if (state !== null) yield* readEntry(state, "state.db");
}

function listFiles(home: string, below: string, depth: number): readonly string[] {
  if (depth > DEEPEST) return [];
  return readdirSync(join(home, below), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (LEFT_OUT.test(path) || !NAME.test(entry.name)) return [];
      if (entry.isDirectory()) return listFiles(home, path, depth + 1);
      return entry.isFile() ? [path] : [];
    });
}

/** As long as it was when it was opened: the log grows meanwhile, and its frames say how far they go. */
function* readEntry(file: string, path: string): Generator<Buffer> {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = fstatSync(fd);
    const entry: Entry = { path, size };
    const text = Buffer.from(JSON.stringify(entry), "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    yield Buffer.concat([length, text]);
    for (let at = 0; at < size; ) {
      const piece = Buffer.alloc(Math.min(PIECE_BYTES, size - at));
      // A segment that was finished meanwhile gave its spare zeros back; zeros stand in for them.
      readSync(fd, piece, 0, piece.length, at);
      at += piece.length;
      yield piece;
    }
  } finally {
    closeSync(fd);
  }
}

/** Writes the files of a backup below an empty folder, private and durable. Returns what `content` returns. */
export function writeEntries(folder: string, content: Generator<Buffer, string>): string {
  let waiting: Buffer = Buffer.alloc(0);
  let ended: string | null = null;
  let files = 0;
  const take = (length: number): Buffer | null => {
    while (waiting.length < length && ended === null) {
      const next = content.next();
      if (next.done === true) ended = next.value;
      else waiting = Buffer.concat([waiting, next.value]);
    }
    if (waiting.length < length) return null;
    const taken = waiting.subarray(0, length);
    waiting = waiting.subarray(length);
    return taken;
  };
  for (;;) {
    const length = take(4);
    if (length === null) break;
    const text = length.readUInt32LE(0) > 4_096 ? null : take(length.readUInt32LE(0));
    const entry = text === null ? null : readHead(text);
    if (entry === null || ++files > defaults.backupFiles) throw wrong();
    writeEntry(join(folder, entry.path), entry.size, take);
  }
  if (ended === null || waiting.length > 0) throw wrong();
  return ended;
}

function writeEntry(path: string, size: number, take: (length: number) => Buffer | null): void {
  makeFolder(dirname(path));
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  try {
    for (let left = size; left > 0; ) {
      const piece = take(Math.min(PIECE_BYTES, left));
      if (piece === null) throw wrong();
      for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done);
      left -= piece.length;
    }
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Null for a name that could lead anywhere but below the folder. */
function readHead(text: Buffer): Entry | null {
  try {
    const { path, size } = JSON.parse(text.toString("utf8")) as Entry;
    const names = typeof path === "string" ? path.split("/") : [];
    const sound = names.length > 0 && names.length <= DEEPEST + 1 && names.every((name) => isName(name));
    return sound && Number.isSafeInteger(size) && size >= 0 ? { path, size } : null;
  } catch {
    return null;
  }
}

function isName(name: string): boolean {
  return NAME.test(name) && name !== "." && name !== "..";
}

function wrong(): Denied {
  return new Denied("backup_malformed", "The backup's content is not that of a home. Use another one.");
}

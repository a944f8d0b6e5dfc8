import { Denied } from "./failure.ts";

/** What the operating system's word means for a person, and what to do about it. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: "this user may not do that. Run it as the user whose it is, or give the right",
  EPERM: "the system does not allow that. Run it as the user whose it is",
  EROFS: "the file system there can only be read. Name another place, or mount it for writing",
  ENOENT: "there is no such file or folder. Name one that exists, or make it",
  ENOTDIR: "a part of that path is a file, where a folder is needed. Name another place",
  EISDIR: "a folder is where a file is needed. Move it away",
  ELOOP: "links on that path lead in a circle, or are not followed. Name the real place",
  ENAMETOOLONG: "that name is too long for the system. Name a shorter one",
  EEXIST: "something is there already. Move it away, or name another",
  ENOTEMPTY: "that folder is not empty. Name another",
  ENOSPC: "the disk is full. Make room and try again",
  EDQUOT: "this user's share of the disk is used up. Make room and try again",
  EXDEV: "the two places are on different file systems. Name one on the same",
  EBUSY: "something uses it. End that and try again",
  EIO: "the disk failed. Look at it before anything else",
  EMFILE: "too many files are open in this program. Raise the limit (ulimit -n)",
  ENFILE: "too many files are open on this machine. End what opens them",
};

/** What SQLite says of its files, by the first byte of its own number. */
const SQLITE_WORDS: Readonly<Record<number, string>> = {
  3: "this user may not use it. Run it as the user whose it is, or give the right",
  8: "it can only be read. Mount its file system for writing, or give the right",
  10: "the disk failed, or has no room. Look at it before anything else",
  13: "the disk is full. Make room and try again",
  14: "it cannot be opened: a folder is in its place, its folder is gone, or this user may not write there",
};

const SQLITE_DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** Whether SQLite cannot make sense of a file: a page is damaged, or it is no database. */
export function isDamagedDatabase(error: unknown): boolean {
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  return typeof error.errcode === "number" && SQLITE_DAMAGED.has(error.errcode & 0xff);
}

/** Names the file that SQLite was to work on: its own errors do not. */
export function atPath<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof Error && !("path" in error) ? Object.assign(error, { path }) : error;
  }
}

/** The refusal that a failed file operation is for whoever asked; undefined for every other error, which is a fault of ours. */
export function deniedByFiles(error: unknown): Denied | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const { code, syscall, path, errcode, info } = error as Trouble;
  if (isDamagedDatabase(error)) return new Denied("store_unreadable", `${path ?? "The state"}: ${DAMAGED}`);
  if (info?.syscall === "uv_os_homedir") return new Denied("file_unusable", NO_HOME);
  const words = syscall === undefined ? SQLITE_WORDS[Number(errcode) & 0xff] : WORDS[String(code)];
  if (words === undefined) return undefined;
  const [where, what] =
    syscall === undefined ? ["the state", `${error.message}, ${errcode}`] : [syscall, `${code}, ${syscall}`];
  return new Denied("file_unusable", `${path ?? where}: ${words} (${what}).`);
}

const DAMAGED = "it is not a SQLite database, or is damaged. Keep it for inspection, and restore it from a backup.";

const NO_HOME =
  "This user has no home folder: the system has no account for it, and HOME is not set. Set HOME to a folder that is this user's own.";

interface Trouble {
  readonly code?: unknown;
  readonly syscall?: string;
  readonly path?: string;
  /** Of SQLite. */
  readonly errcode?: unknown;
  /** Of Node, where it asks the system for something that is no file. */
  readonly info?: { readonly syscall?: string };
}

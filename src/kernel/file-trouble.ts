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

/** The refusal that a failed file operation is for whoever asked; undefined for every other error, which is a fault of ours. */
export function deniedByFiles(error: unknown): Denied | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return undefined;
  const words = WORDS[String(error.code)];
  if (words === undefined) return undefined;
  const where = "path" in error ? String(error.path) : String(error.syscall);
  return new Denied("file_unusable", `${where}: ${words} (${String(error.code)}, ${String(error.syscall)}).`);
}

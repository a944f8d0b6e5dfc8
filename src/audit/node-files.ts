import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { LogFile, LogFiles, ReadFile } from "./files.ts";

const OWNER_FILE = 0o600;
const OWNER_FOLDER = 0o700;

export function nodeLogFiles(folder: string): LogFiles {
  let held: number | undefined;
  return {
    prepare: () => void mkdirSync(folder, { recursive: true, mode: OWNER_FOLDER }),
    list: () => readdirSync(folder),
    create: (name) =>
      logFile(openSync(join(folder, name), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, OWNER_FILE)),
    openToRead: (name) => openReadFile(join(folder, name)),
    rename: (from, to) => renameSync(join(folder, from), join(folder, to)),
    remove: (name) => unlinkSync(join(folder, name)),
    syncFolder() {
      // Kept for as long as the process: a turn of segments takes no new descriptor.
      held ??= openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
      fsyncSync(held);
    },
  };
}

function logFile(fd: number): LogFile {
  return {
    write(bytes, position) {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(fd, bytes, done, bytes.length - done, position + done);
      }
    },
    syncInline: () => fdatasyncSync(fd),
    sync: () =>
      new Promise((resolve, reject) => fdatasync(fd, (error) => (error === null ? resolve() : reject(error)))),
    truncate: (length) => ftruncateSync(fd, length),
    close: () => closeSync(fd),
  };
}

/** Follows no symbolic link: a segment is a plain file in the folder. */
export function openReadFile(path: string): ReadFile {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if (!fstatSync(fd).isFile()) {
    closeSync(fd);
    throw Object.assign(new Error(`${path} is not a plain file`), { code: "EINVAL" });
  }
  return {
    size: () => fstatSync(fd).size,
    read(target, position) {
      let done = 0;
      while (done < target.length) {
        const got = readSync(fd, target, done, target.length - done, position + done);
        if (got === 0) break;
        done += got;
      }
      return done;
    },
    close: () => closeSync(fd),
  };
}

/** Undefined where there is none: an archive may move a segment away at any time, also since its folder was listed. */
export function openIfThere(path: string): ReadFile | undefined {
  try {
    return openReadFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

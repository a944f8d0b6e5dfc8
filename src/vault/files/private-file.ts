import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { userInfo } from "node:os";
import { Denied } from "../../kernel/failure.ts";

/** Who else than the running user may own a file, and which bits others may have on it. */
export interface Ownership {
  readonly owners: readonly number[];
  readonly forbidden: number;
}

/** Ours alone. */
export function ownFile(): Ownership {
  return { owners: [currentUser()], forbidden: 0o077 };
}

/** Systemd mounts credentials as root's, readable for the unit's user through an entry that shows as group read. */
export function systemdFile(): Ownership {
  return { owners: [0, currentUser()], forbidden: 0o037 };
}

/** Undefined when there is none. Links are not followed, and the checks are on the opened file, not on its name. */
export function readPrivateFile(path: string, maxBytes: number, ownership = ownFile()): Buffer | undefined {
  return readPlainFile(path, maxBytes, (stats) => checkOwnership(path, stats, ownership, "600"));
}

/**
 * A regular file of bounded size, whoever owns it, unless `check` minds; no link is followed and no pipe or device is waited for.
 * Every file that somebody else may have put where we look is opened this way. Undefined when there is none.
 */
export function readPlainFile(path: string, maxBytes: number, check?: (stats: Stats) => void): Buffer | undefined {
  const descriptor = openPrivate(path);
  if (descriptor === undefined) return undefined;
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) notRegular(path, stats.isDirectory() ? "a folder, and a file belongs there" : NO_FILE);
    check?.(stats);
    if (stats.size > maxBytes) throw new Denied("file_too_large", `${path} is larger than ${maxBytes} bytes.`);
    return readAll(descriptor, path, stats.size, maxBytes);
  } finally {
    closeSync(descriptor);
  }
}

/** The home is a folder of ours that nobody else can enter. Undefined when there is none. */
export function checkPrivateFolder(path: string): true | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isDirectory()) notRegular(path, stats.isSymbolicLink() ? LINK : "no folder, and one belongs there");
  checkOwnership(path, stats, ownFile(), "700");
  return true;
}

export function currentUser(): number {
  return process.geteuid?.() ?? userInfo().uid;
}

function openPrivate(path: string): number | undefined {
  try {
    // Without O_NONBLOCK a planted pipe would hold us here for ever.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    // A link, a socket, a device that is not there.
    if (code === "ELOOP" || code === "ENXIO" || code === "ENODEV") notRegular(path, code === "ELOOP" ? LINK : NO_FILE);
    if (code === "EACCES") {
      throw new Denied(
        "file_not_owned",
        `${path} cannot be opened by user ${currentUser()}. Run gw as its owner, or: sudo chown ${currentUser()} ${path}`,
      );
    }
    throw error;
  }
}

function checkOwnership(path: string, stats: Stats, { owners, forbidden }: Ownership, mode: string): void {
  if (!owners.includes(stats.uid)) {
    throw new Denied(
      "file_not_owned",
      `${path} belongs to user ${stats.uid} and gw runs as user ${currentUser()}. Run gw as its owner; if it should be yours: sudo chown ${currentUser()} ${path}`,
    );
  }
  if ((stats.mode & forbidden) !== 0) {
    throw new Denied("file_permissions_open", `Others can get at ${path}: chmod ${mode} ${path}`);
  }
}

/** Takes room for what the file says it has, and a byte to see its end; more only where more comes. */
function readAll(descriptor: number, path: string, size: number, maxBytes: number): Buffer {
  let bytes = Buffer.alloc(size + 1);
  let length = 0;
  for (;;) {
    const count = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (count === 0) return bytes.subarray(0, length);
    length += count;
    if (length > maxBytes) throw new Denied("file_too_large", `${path} is larger than ${maxBytes} bytes.`);
    if (length < bytes.length) continue;
    const larger = Buffer.alloc(Math.min(2 * length + GROWN_BYTES, maxBytes + 1));
    bytes.copy(larger);
    bytes.fill(0);
    bytes = larger;
  }
}

/** Files below /proc say that they are empty. */
const GROWN_BYTES = 4_096;

const LINK = "a link, and gw follows none to what is private: name the place itself";
const NO_FILE = "a pipe, a socket or a device, and a file belongs there";

function notRegular(path: string, what: string): never {
  throw new Denied("file_not_regular", `${path} is ${what}.`);
}

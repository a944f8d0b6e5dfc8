import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Whose files the receiver believes: root's, and for a trial without root the account's own. */
export interface Trust {
  readonly ownFiles: boolean;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

const LINKS_MAX = 40;

/** The real path of a regular file that only a trusted owner can change or put another in place of; undefined otherwise. */
export function resolveTrusted(path: string, trust: Trust): string | undefined {
  try {
    const real = realpathSync(path);
    const file = statSync(real);
    if (!file.isFile() || !isOwned(file, trust) || (file.mode & WRITABLE_BY_OTHERS) !== 0) return undefined;
    return leadsSafely(path, trust, LINKS_MAX) && leadsSafely(real, trust, 0) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** Whether nobody but root and this account can put another folder in the place of this one. */
export function isKeptFolder(path: string): boolean {
  const trust: Trust = { ownFiles: true };
  return leadsSafely(path, trust, LINKS_MAX) && leadsSafely(realpathSync(path), trust, 0);
}

/** Every folder on the way, and that of every link in it: the path as written is what runs. */
function leadsSafely(path: string, trust: Trust, links: number): boolean {
  for (let part = path; part !== dirname(part); part = dirname(part)) {
    const folder = statSync(dirname(part));
    // In a sticky folder of root others may add names, but not take ours away.
    const open = (folder.mode & WRITABLE_BY_OTHERS) !== 0 && (folder.mode & STICKY) === 0;
    if (open || !isOwned(folder, trust)) return false;
    const found = lstatSync(part);
    if (!found.isSymbolicLink()) continue;
    if (links === 0 || !isOwned(found, trust)) return false;
    if (!leadsSafely(resolve(realpathSync(dirname(part)), readlinkSync(part)), trust, links - 1)) return false;
  }
  return true;
}

function isOwned(found: Stats, trust: Trust): boolean {
  return found.uid === 0 || (trust.ownFiles && found.uid === process.geteuid?.());
}

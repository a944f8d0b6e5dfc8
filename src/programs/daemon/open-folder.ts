import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname } from "node:path";

/** A folder that lets somebody else write to the home, or put another in its place, and the command that closes it. */
export interface OpenFolder {
  readonly path: string;
  readonly mend: string;
}

const ROOT = 0;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Null where nobody but this user and root can. Looked at anew each time: whoever opened a folder after the start, by its mode or
 * by a list of names (which shows as the group's bits), has changed what this gateway is worth.
 */
export function findOpenFolder(home: string): OpenFolder | null {
  try {
    return openOnTheWay(realpathSync(home));
  } catch {
    // Gone, or somewhere that this user may not look: nothing is proven, and nothing is claimed.
    return { path: home, mend: `ls -ld ${home}` };
  }
}

function openOnTheWay(real: string): OpenFolder | null {
  const own = process.geteuid?.() ?? ROOT;
  for (let path = real; ; path = dirname(path)) {
    const found = lstatSync(path);
    if (found.uid !== own && found.uid !== ROOT) return { path, mend: `chown ${path === real ? own : ROOT} ${path}` };
    if (isOpen(found, path === real)) return { path, mend: `chmod go-w ${path}` };
    if (path === dirname(path)) return null;
  }
}

/** In a sticky folder above it others may add names, but not take ours away. */
function isOpen({ mode }: Stats, isHome: boolean): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0 && (isHome || (mode & STICKY) === 0);
}

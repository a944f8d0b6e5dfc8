import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname } from "node:path";

/** A path that lets somebody else change what stands there, or put something else in its place, and the command that closes it. */
export interface OpenPath {
  readonly path: string;
  readonly mend: string;
}

const ROOT = 0;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Null where nobody but this user and root can. Looked at anew each time: whoever opens one later, by its mode or by a list of names (which shows
 * as the group's bits), changes what stands there.
 */
export function findOpenPath(path: string): OpenPath | null {
  try {
    return openOnTheWay(realpathSync(path));
  } catch {
    // Gone, or somewhere that this user may not look: nothing is proven, and nothing is claimed.
    return { path, mend: `ls -ld ${path}` };
  }
}

function openOnTheWay(real: string): OpenPath | null {
  const own = process.geteuid?.() ?? ROOT;
  for (let path = real; ; path = dirname(path)) {
    const found = lstatSync(path);
    if (found.uid !== own && found.uid !== ROOT) return { path, mend: `chown ${path === real ? own : ROOT} ${path}` };
    if (isOpen(found, path === real)) return { path, mend: `chmod go-w ${path}` };
    if (path === dirname(path)) return null;
  }
}

/** In a sticky folder above it others may add names, but not take ours away. */
function isOpen({ mode }: Stats, isLast: boolean): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0 && (isLast || (mode & STICKY) === 0);
}

import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Whose files the receiver believes: root's, and for a trial without root the account's own. */
export interface Trust {
  readonly ownFiles: boolean;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** The real path of a regular file that only a trusted owner can change or put another in place of; undefined otherwise. */
export function resolveTrusted(path: string, trust: Trust): string | undefined {
  try {
    const real = realpathSync(path);
    const file = statSync(real);
    if (!file.isFile() || !isOwned(file, trust) || (file.mode & WRITABLE_BY_OTHERS) !== 0) return undefined;
    for (let folder = dirname(real); ; folder = dirname(folder)) {
      const found = statSync(folder);
      // In a sticky folder of root others may add names, but not take ours away.
      const open = (found.mode & WRITABLE_BY_OTHERS) !== 0 && (found.mode & STICKY) === 0;
      if (open || !isOwned(found, trust)) return undefined;
      if (folder === dirname(folder)) return real;
    }
  } catch {
    return undefined;
  }
}

function isOwned(found: Stats, trust: Trust): boolean {
  return found.uid === 0 || (trust.ownFiles && found.uid === process.geteuid?.());
}

import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it, and takes one that is there. Node's own recursive making never ends below /proc, where
 * making a folder fails as if its parent were not there.
 */
export function makeFolder(path: string, mode = 0o700): void {
  if (tryMake(path, mode)) return;
  makeFolder(dirname(path), mode);
  // Another command may have made it meanwhile.
  if (!tryMake(path, mode)) mkdirSync(path, { mode });
}

/** False where the folder above is missing; any other failure is thrown. */
function tryMake(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST" && statSync(path).isDirectory()) return true;
    const above = dirname(path);
    if (code === "ENOENT" && above !== path && statSync(above, { throwIfNoEntry: false }) === undefined) return false;
    throw error;
  }
}

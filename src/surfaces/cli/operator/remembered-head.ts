import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * The last head of the log that this operator saw, kept in their own state folder and outside every home: whoever can
 * roll the log back cannot roll this back with it.
 */
export interface RememberedHead {
  readonly frame: number;
  readonly link: string;
}

export function readHead(stateFolder: string, vaultId: string): RememberedHead | null {
  let text: string;
  try {
    text = readFileSync(pathOf(stateFolder, vaultId), "utf8");
  } catch {
    return null;
  }
  try {
    const { frame, link } = JSON.parse(text) as { readonly frame: unknown; readonly link: unknown };
    if (
      typeof frame === "number" &&
      Number.isSafeInteger(frame) &&
      typeof link === "string" &&
      /^[0-9a-f]{64}$/.test(link)
    ) {
      return { frame, link };
    }
  } catch {
    // A file that is not ours remembers nothing; the next head that is seen replaces it.
  }
  return null;
}

export function writeHead(stateFolder: string, vaultId: string, { frame, link }: RememberedHead): void {
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  const path = pathOf(stateFolder, vaultId);
  writeFileSync(`${path}.new`, `${JSON.stringify({ frame, link })}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function pathOf(stateFolder: string, vaultId: string): string {
  return join(stateFolder, `${vaultId.replaceAll(/[^A-Za-z0-9_-]/g, "_")}.head.json`);
}

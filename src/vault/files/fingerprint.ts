import { createHash } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { POLICY_NAME, VAULT_NAME } from "./home.ts";

const PACK_FILES = 1_000;

/** Which files stand in a home now, without reading them: another fingerprint means that somebody wrote. Throws where that cannot be seen. */
export function fingerprintHome(folder: string): string {
  const packs = join(folder, "packs");
  const hash = createHash("sha256");
  for (const path of [join(folder, VAULT_NAME), join(folder, POLICY_NAME), ...listPacks(packs)]) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    const seen = stats === undefined ? [] : [stats.dev, stats.ino, stats.mtimeNs, stats.ctimeNs, stats.size];
    hash.update(`${path}\0${seen.join(":")}\n`);
  }
  return hash.digest("hex");
}

function listPacks(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".yaml"))
      .sort()
      .slice(0, PACK_FILES)
      .map((name) => join(folder, name));
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  }
}

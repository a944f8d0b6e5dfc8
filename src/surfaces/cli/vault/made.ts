import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../../vault/files/make-folder.ts";

/** When this user last made a copy of something that a home cannot keep for itself. Only `gw doctor` reads it; nothing is decided by it. */
export type Made = Readonly<Partial<Record<"backup" | "checkpoint", string>>>;

export function readMade(stateFolder: string, vaultId: string): Made {
  try {
    const { backup, checkpoint } = JSON.parse(readFileSync(pathOf(stateFolder, vaultId), "utf8")) as Made;
    return { ...(isTime(backup) ? { backup } : {}), ...(isTime(checkpoint) ? { checkpoint } : {}) };
  } catch {
    return {};
  }
}

export function noteMade(stateFolder: string, vaultId: string, what: keyof Made, at: string): void {
  const path = pathOf(stateFolder, vaultId);
  const text = JSON.stringify({ format: "gw.made/v1", ...readMade(stateFolder, vaultId), [what]: at });
  try {
    makeFolder(stateFolder);
    writeFileSync(`${path}.new`, `${text}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // What was made stays made; doctor will say that it knows of none.
  }
}

function isTime(value: string | undefined): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

function pathOf(stateFolder: string, vaultId: string): string {
  return join(stateFolder, `${vaultId.replaceAll(/[^A-Za-z0-9_-]/g, "_")}.made.json`);
}

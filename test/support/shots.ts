import { accessSync, constants, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whole } from "./whole.ts";

/** Whether somebody wants to look at the console as the tests saw it: GW_SHOTS names the folder. */
export const pictured = whole || process.env["GW_SHOTS"] !== undefined;

/** Where a person can look at what the tests saw: below the clone, or else where everybody may write. */
export const shots = shotFolder();

function shotFolder(): string {
  try {
    const folder = process.env["GW_SHOTS"] ?? join(import.meta.dirname, "..", "..", "out", "shots");
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return mkdtempSync(join(tmpdir(), "gw-shots-"));
  }
}

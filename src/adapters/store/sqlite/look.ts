import { lstatSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isDamagedDatabase } from "../../../kernel/file-trouble.ts";

/**
 * Whether a page of a database of this user's own is damaged; null where that cannot be told. Reads all of it. Another
 * user's is not opened: what SQLite lays beside it would be ours, and keep them out.
 */
export function isDamagedFile(path: string): boolean | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.uid !== process.geteuid?.()) return null;
  try {
    const handle = new DatabaseSync(path, { readOnly: true, allowExtension: false });
    try {
      handle.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
      return handle.prepare("pragma quick_check(1)").get()?.["quick_check"] !== "ok";
    } finally {
      handle.close();
    }
  } catch (error) {
    return isDamagedDatabase(error) ? true : null;
  }
}

import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { showText } from "../../../kernel/display.ts";

/** The two exits that a shell gives for a command it cannot start. */
export const startExits = { notExecutable: 126, notFound: 127 } as const;

export type Found =
  | { readonly kind: "found" }
  | { readonly kind: "refused"; readonly exit: 126 | 127; readonly message: string };

/** Whether a command could be started, before a person is asked about it. */
export function findProgram(name: string, path: string | undefined, folder: string): Found {
  const shown = showText(name);
  const candidates = name.includes("/")
    ? [resolve(folder, name)]
    : (path ?? "/usr/local/bin:/usr/bin:/bin").split(":").map((entry) => resolve(folder, entry, name));
  let seen: "file" | "folder" | null = null;
  for (const candidate of name === "" ? [] : candidates) {
    const kind = kindOf(candidate);
    if (kind === "program") return { kind: "found" };
    seen ??= kind;
  }
  if (seen === null) {
    const where = name.includes("/") ? "There is no file of that name." : "It is in no folder of PATH.";
    const message = `command_not_found: "${shown}" cannot be started. ${where} Nobody was asked and nothing ran.`;
    return { kind: "refused", exit: startExits.notFound, message };
  }
  const why = seen === "folder" ? "It is a folder." : `This user may not execute it (chmod +x ${shown}).`;
  const message = `command_not_executable: "${shown}" cannot be started. ${why} Nobody was asked and nothing ran.`;
  return { kind: "refused", exit: startExits.notExecutable, message };
}

function kindOf(path: string): "program" | "file" | "folder" | null {
  try {
    if (!statSync(path).isFile()) return "folder";
  } catch {
    // Not there, or in a folder that this user may not look into: the next one may have it.
    return null;
  }
  try {
    accessSync(path, constants.X_OK);
    return "program";
  } catch {
    return "file";
  }
}

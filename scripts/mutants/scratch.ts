import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A copy of the clone in which something may be broken. */
export interface Scratch {
  readonly folder: string;
  remove(): void;
}

export function makeScratch(root: string): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "gw-mutants-"));
  chmodSync(folder, 0o755);
  for (const part of ["src", "packages", "demo", "test", "packs", "scripts", "docs", "bin"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const part of ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "README.md"])
    cpSync(join(root, part), join(folder, part));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // Also of a run that somebody gives up.
  process.once("exit", remove);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
  return { folder, remove };
}

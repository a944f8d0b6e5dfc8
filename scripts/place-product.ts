import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { compile } from "./compile.ts";

/** The product as a package has it, compiled into `folder`, where any uid can read it. Its types are the check's business. */
export async function placeProduct(root: string, folder: string, change = (): void => undefined): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  // First, since the bundler reads in package.json that all of it are modules.
  for (const part of ["bin", "packs", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  await compile(join(folder, "dist"), { types: false, change, root, checked: false });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

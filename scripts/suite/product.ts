import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../compile.ts";
import { cheapen } from "./cheapen.ts";

export interface Product {
  /** The launcher that tests start instead of the clone's. */
  readonly program: string;
}

/**
 * The product as a user gets it, compiled once for the whole run, but with a cheap key derivation: hundreds of homes are
 * made and unlocked. It stands where any uid can read it. Its types are the check's business, not this one's.
 */
export async function compileProduct(root: string, folder: string): Promise<Product> {
  // A run within a run takes the outer one's.
  const given = process.env["GW_TEST_PRODUCT"];
  if (given !== undefined) return { program: given };
  mkdirSync(folder, { mode: 0o755 });
  const dist = join(folder, "dist");
  const change = (): void => {
    const defaults = join(dist, "src", "kernel", "defaults.js");
    writeFileSync(defaults, cheapen(readFileSync(defaults, "utf8")));
  };
  await compile(dist, { types: false, change, root, checked: false });
  for (const part of ["bin", "packs", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return { program: join(folder, "bin", "gw") };
}

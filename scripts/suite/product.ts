import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cheapen } from "./cheapen.ts";

export interface Product {
  /** The launcher that tests start instead of the clone's. */
  readonly program: string;
  remove(): void;
}

/**
 * The product as a user gets it, compiled once for the whole run, but with a cheap key derivation: hundreds of homes are
 * made and unlocked. It stands where any uid can read it.
 */
export function compileProduct(root: string): Product {
  const folder = mkdtempSync(join(tmpdir(), "gw-product-"));
  chmodSync(folder, 0o755);
  const dist = join(folder, "dist");
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const built = spawnSync(
    process.execPath,
    [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", dist, "--declaration", "false"],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  if (built.status !== 0) throw new Error("the product does not compile");
  const defaults = join(dist, "kernel", "defaults.js");
  writeFileSync(defaults, cheapen(readFileSync(defaults, "utf8")));
  for (const part of ["bin", "packs", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return {
    program: join(folder, "bin", "gw"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

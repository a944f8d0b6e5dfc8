import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { placeProduct } from "../place-product.ts";
import { cheapen } from "./cheapen.ts";

export interface Product {
  /** The launcher that tests start instead of the clone's. */
  readonly program: string;
}

/**
 * The product as a user gets it, compiled once for the whole run, but with a cheap key derivation, as hundreds of homes are
 * made and unlocked, and with a memory for digests of large images, as hundreds of gateways ask for the same one. It stands where any uid can read it. Its types are the check's business, not this one's.
 */
export async function compileProduct(root: string, folder: string): Promise<Product> {
  // A run within a run takes the outer one's.
  const given = process.env["GW_TEST_PRODUCT"];
  if (given !== undefined) return { program: given };
  const dist = join(folder, "dist");
  const change = (): void => {
    const defaults = join(dist, "src", "kernel", "defaults.js");
    writeFileSync(defaults, cheapen(readFileSync(defaults, "utf8")));
    if (process.env["GW_TEST_WHOLE"] !== "1")
      rememberDigests(join(dist, "src", "adapters", "platform", "linux", "image"));
  };
  await placeProduct(root, folder, change);
  return { program: join(folder, "bin", "gw") };
}

/** Large images are read once a run and user. Any of its users writes what it read, as in the folders that stand.ts makes. */
function rememberDigests(folder: string): void {
  renameSync(join(folder, "digest.js"), join(folder, "digest-of-image.js"));
  cpSync(join(import.meta.dirname, "made-digest.mjs"), join(folder, "digest.js"));
  const digests = join(folder, "digests");
  mkdirSync(digests);
  chmodSync(digests, 0o1777);
}

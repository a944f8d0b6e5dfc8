import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installation } from "../kernel/installation.ts";

/** The version of the package this program came with. */
export const version: string = readVersion();

function readVersion(): string {
  const text = readFileSync(join(installation, "package.json"), "utf8");
  const { version: found } = JSON.parse(text) as { readonly version: string };
  return found;
}

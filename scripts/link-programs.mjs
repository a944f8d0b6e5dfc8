// After `npm ci` in a clone: puts the clone's own programs among node_modules/.bin, as an installed package would have them.
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");
if (existsSync(join(root, "src"))) {
  mkdirSync(bin, { recursive: true });
  for (const name of ["gw", "gw-ssh", "gw-ident", "gw-receiver"]) {
    rmSync(join(bin, name), { force: true });
    symlinkSync(join("..", "..", "bin", name), join(bin, name));
  }
}

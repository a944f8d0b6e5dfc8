import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";

const root = join(import.meta.dirname, "..");

/** Makes JavaScript of the sources in `folder`, and the receiver as the one file that goes to a host. */
export function compile(folder: string, { types }: { readonly types: boolean }): void {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const options = ["-p", join(root, "tsconfig.build.json"), "--outDir", folder, "--declaration", String(types)];
  const built = spawnSync(process.execPath, [tsc, ...options], { stdio: ["ignore", "inherit", "inherit"] });
  if (built.status !== 0) process.exit(built.status ?? 1);
  const receiver = join(root, "src", "programs", "gw-receiver.ts");
  writeFileSync(join(folder, "gw-receiver.mjs"), bundle(receiver, "gw-receiver"), { mode: 0o755 });
}

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle, bundlePrograms } from "./bundle.ts";

const root = join(import.meta.dirname, "..");

export interface CompileOptions {
  readonly types: boolean;
  /** Changes what was compiled before it is bundled. */
  readonly change?: () => void;
}

/** Makes JavaScript of the sources in `folder`, the programs of few files, and the receiver as the one file that goes to a host. */
export async function compile(folder: string, { types, change }: CompileOptions): Promise<void> {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const options = ["-p", join(root, "tsconfig.build.json"), "--outDir", folder, "--declaration", String(types)];
  const built = spawnSync(process.execPath, [tsc, ...options], { stdio: ["ignore", "inherit", "inherit"] });
  if (built.status !== 0) throw new Error("the sources do not compile");
  change?.();
  await bundlePrograms(root, folder);
  const receiver = join(root, "src", "programs", "gw-receiver.ts");
  writeFileSync(join(folder, "gw-receiver.mjs"), bundle(receiver, "gw-receiver"), { mode: 0o755 });
}

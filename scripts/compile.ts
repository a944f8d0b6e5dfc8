import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPage } from "./build-page.ts";
import { bundle, bundlePrograms } from "./bundle.ts";

export interface CompileOptions {
  /** The types of what the package exports, for whoever imports it; nobody reaches the others. */
  readonly types: boolean;
  /** Another clone than the one of this script. */
  readonly root?: string;
  /** Whether the types have to be right, which takes four times as long; the suite, which checks them beside its tests, says no. */
  readonly checked?: boolean;
  /** Changes what was compiled before it is bundled. */
  readonly change?: () => void;
}

/** Makes JavaScript of the sources in `folder`, the programs of few files, and the receiver as the one file that goes to a host. */
export async function compile(folder: string, options: CompileOptions): Promise<void> {
  const {
    types,
    change,
    root = join(import.meta.dirname, ".."),
    checked = process.env["GW_CHECKED_BESIDE"] !== "1",
  } = options;
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  // Unchecked, files are compiled without what they import, which only declarations need.
  const projects = {
    "tsconfig.build.json": ["--noCheck", "--noResolve", "--types", ""],
    "tsconfig.client.json": ["--noCheck"],
  };
  for (const [project, unchecked] of Object.entries(projects).slice(0, types ? 2 : 1)) {
    const command = [tsc, "-p", join(root, project), "--outDir", folder, ...(checked ? [] : unchecked)];
    const built = spawnSync(process.execPath, command, { stdio: ["ignore", "inherit", "inherit"] });
    if (built.status !== 0) throw new Error("the sources do not compile");
  }
  change?.();
  await bundlePrograms(root, folder);
  const receiver = join(root, "src", "programs", "gw-receiver.ts");
  writeFileSync(join(folder, "gw-receiver.mjs"), bundle(receiver, "gw-receiver"), { mode: 0o755 });
  const page = join(folder, "src", "console", "page");
  const { script, style } = buildPage();
  mkdirSync(page, { recursive: true });
  writeFileSync(join(page, "page.js"), script);
  writeFileSync(join(page, "page.css"), style);
}

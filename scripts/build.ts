import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

/** Compiles the publishable package: JavaScript and types in dist/. */
const root = join(import.meta.dirname, "..");
rmSync(join(root, "dist"), { recursive: true, force: true });
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
const built = spawnSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });
process.exit(built.status ?? 1);

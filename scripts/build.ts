import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";

/** Makes the publishable package in dist/: JavaScript and types, and the receiver as the one file that goes to a host. */
const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
const built = spawnSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });
if (built.status !== 0) process.exit(built.status ?? 1);
const receiver = join(root, "src", "programs", "gw-receiver.ts");
writeFileSync(join(dist, "gw-receiver.mjs"), bundle(receiver, "gw-receiver"), { mode: 0o755 });

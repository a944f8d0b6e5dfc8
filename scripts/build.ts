import { rmSync } from "node:fs";
import { join } from "node:path";
import { compile } from "./compile.ts";

/** Makes the publishable package in dist/: JavaScript and types, and the receiver as the one file that goes to a host. */
const dist = join(import.meta.dirname, "..", "dist");
rmSync(dist, { recursive: true, force: true });
await compile(dist, { types: true });

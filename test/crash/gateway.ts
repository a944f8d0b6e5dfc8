import type { Life } from "./life.ts";
import { playLife } from "./play.ts";

/** One life, in a process of its own that can be killed. */
await playLife(JSON.parse(process.argv[2] ?? "{}") as Life);
process.exit(0);

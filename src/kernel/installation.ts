import { resolve } from "node:path";

/** The folder with bin/, packs/ and package.json: sources stand two folders below it, what is compiled of them in dist/. */
export const installation = resolve(import.meta.dirname, import.meta.filename.endsWith(".ts") ? "../.." : "../../..");

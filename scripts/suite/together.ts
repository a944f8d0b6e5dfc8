import { registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { keep } from "./file-tests.ts";

/** Run by run-files.ts in its own process: each of the files that it was given, as a suite of that name. */
const kept = pathToFileURL(join(import.meta.dirname, "file-tests.ts")).href;
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== "node:test" || context.parentURL?.endsWith(".test.ts") !== true) return next(specifier, context);
    return { url: kept, shortCircuit: true };
  },
});
const [, , , , ...files] = process.argv;
const suites = new Map<string, () => void>();
for (const file of files) suites.set(file, await keep(() => import(pathToFileURL(resolve(file)).href)));
for (const [file, suite] of suites) describe(file, suite);

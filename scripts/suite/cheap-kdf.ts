import { enableCompileCache, registerHooks } from "node:module";
import { getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";
import { cheap, cheapen } from "./cheapen.ts";

/**
 * Loaded before a test file: deriving a key from a passphrase costs next to nothing there, as in the product that
 * product.ts compiles for the tests.
 */

// A thread of the product starts with no environment, and would strip the types of all its sources anew.
const COMPILED = "compiled";
const compiled = isMainThread ? process.env["NODE_COMPILE_CACHE"] : getEnvironmentData(COMPILED);
if (isMainThread) setEnvironmentData(COMPILED, compiled);
else if (typeof compiled === "string") enableCompileCache(compiled);

if (cheap) {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith("/src/kernel/defaults.ts")) return loaded;
      return { ...loaded, source: cheapen(String(loaded.source)) };
    },
  });
}

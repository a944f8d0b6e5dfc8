import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { cheap } from "./cheapen.ts";

/**
 * Loaded before a test file: what the test file imports of our sources comes from the one file that one-file.ts made of them. A
 * program or a thread that is started from a source is loaded from that source. In that file a key derivation is cheap.
 */
const made = process.env["GW_TEST_ONE_FILE"];
// A thread loads its sources as the product's threads do: one by one, and few.
if (isMainThread && made !== undefined && cheap) takeFrom(made);

function takeFrom(folder: string): void {
  const clone = dirname(dirname(import.meta.dirname));
  Object.assign(globalThis, { [Symbol.for("gw.clone")]: clone });
  const names = JSON.parse(readFileSync(join(folder, "names.json"), "utf8")) as Readonly<Record<string, string[]>>;
  const ours = `${pathToFileURL(clone).href}/`;
  const all = pathToFileURL(join(folder, "all.mjs")).href;
  registerHooks({
    resolve(specifier, context, next) {
      const parent = context.parentURL ?? "";
      if (!/^\.\.?\/.*\.ts$/.test(specifier) || !parent.startsWith(ours)) return next(specifier, context);
      const file = new URL(specifier, parent).href.slice(ours.length);
      if (!Object.hasOwn(names, file)) return next(specifier, context);
      return { url: `${all}?${file}`, format: "module", shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.startsWith(`${all}?`)) {
        // A file that starts itself anew as another user is loaded from where that user sees the clone.
        if (!url.startsWith(ours) || !url.endsWith(".test.ts")) return next(url, context);
        const test = join(folder, "tests", url.slice(ours.length));
        if (!existsSync(test)) return next(url, context);
        return { format: "module", source: readFileSync(test), shortCircuit: true };
      }
      const file = url.slice(all.length + 1);
      const given = (names[file] ?? []).map(
        (name, at) => `const v${at} = its[${JSON.stringify(name)}];
export { v${at} as ${name} };`,
      );
      const source = `import { modules } from ${JSON.stringify(all)};
const its = await modules[${JSON.stringify(file)}]();
${given.join("\n")}`;
      return { format: "module", source, shortCircuit: true };
    },
  });
}

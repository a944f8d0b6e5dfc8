import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";
import { parseSync } from "oxc-parser";
import { loadLazily, TAKEN } from "../bundle.ts";
import { cheapen } from "./cheapen.ts";

/** A package that is no part of the file is loaded when it is first used. */
const PACKAGE = /^(?:@[a-z0-9-]+\/)?[a-z][a-z0-9.-]*(?:\/|$)/;
const PLACE = /(?<!["'`\w])import\.meta\.(dirname|filename|url|main)\b/g;

/** What a source of ours loads, and what it gives away. */
interface Links {
  readonly loads: readonly string[];
  readonly names: readonly string[];
  /** Sources whose names are all its own too. */
  readonly passesOn: readonly string[];
}

/**
 * All that test files load of ours, as one file: hundreds of processes load hundreds of sources otherwise, one by one, which takes
 * longer than most of their tests. In it a source is still a module of its own, run when it is first asked for. The test
 * files stay as they are but for their types; from-one-file.ts, loaded before them, leads what they import here. Where the clone stands is told
 * when it is loaded, so that the file can be read from anywhere.
 */
export async function makeOneFile(root: string, tests: readonly string[], folder: string): Promise<void> {
  const sources = findSources(root, tests);
  const names = Object.fromEntries([...sources.keys()].map((file) => [file, [...namesOf(file, sources)]]));
  const modules = [...sources.keys()].map((file) => `${JSON.stringify(file)}: () => import("./${file}")`);
  const outfile = join(folder, "all.mjs");
  const contents = `export const modules = {\n${modules.join(",\n")}\n};`;
  await build({
    stdin: { contents, resolveDir: root, loader: "js" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    absWorkingDir: root,
    charset: "ascii",
    legalComments: "none",
    sourcemap: "external",
    sourcesContent: false,
    outfile,
    banner: {
      // Names that no source and no package has at its top: esbuild does not know of them.
      js: `import { createRequire as gw$findPackages } from "node:module";
const gw$clone = globalThis[Symbol.for("gw.clone")];
const gw$loadPackage = gw$findPackages(gw$clone + "/package.json");`,
    },
    plugins: [loadLazily, loadPackagesLazily, keepPlaces(root)],
    logLevel: "error",
  });
  // What is no ASCII would double the file in memory; the bundler leaves some of it, in comments.
  const text = readFileSync(outfile, "utf8");
  writeFileSync(
    outfile,
    text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
  writeFileSync(join(folder, "names.json"), JSON.stringify(names));
  for (const test of tests) stripTest(root, test, folder);
}

/** Line by line and column by column as it was. A process that strips types itself loads what strips them first, for one file. */
function stripTest(root: string, test: string, folder: string): void {
  const place = join(folder, "tests", test);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, stripTypeScriptTypes(readFileSync(join(root, test), "utf8")));
}

/** Every source that the tests reach, by its path in the clone. */
function findSources(root: string, tests: readonly string[]): ReadonlyMap<string, Links> {
  const found = new Map<string, Links>();
  const look = (file: string): void => {
    for (const next of readLinks(root, file).loads) {
      if (found.has(next)) continue;
      found.set(next, readLinks(root, next));
      look(next);
    }
  };
  for (const test of tests) look(test);
  return found;
}

function readLinks(root: string, file: string): Links {
  const text = readFileSync(join(root, file), "utf8");
  const { module } = parseSync(file, text);
  const exported = module.staticExports.flatMap(({ entries }) => entries.filter(({ isType }) => !isType));
  const asked = [
    ...module.staticImports
      .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
      .map(({ moduleRequest }) => moduleRequest.value),
    ...exported.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
  const place = (name: string): string => relative(root, join(root, dirname(file), name));
  const ours = (name: string): boolean => /^\.\.?\/[\w./-]+\.ts$/.test(name) && !name.endsWith(".test.ts");
  return {
    loads: [...new Set(asked.filter(ours).map(place))],
    names: exported.flatMap(({ exportName: { kind, name } }) => (kind === "Default" ? "default" : (name ?? []))),
    passesOn: exported
      .filter(({ importName }) => importName.kind === "AllButDefault")
      .map(({ moduleRequest }) => place(moduleRequest?.value ?? "")),
  };
}

function namesOf(file: string, sources: ReadonlyMap<string, Links>): ReadonlySet<string> {
  const { names = [], passesOn = [] } = sources.get(file) ?? {};
  const passed = passesOn.flatMap((from) => [...namesOf(from, sources)].filter((name) => name !== "default"));
  return new Set([...names, ...passed]);
}

/** A source that asks where it stands is answered as before. */
function keepPlaces(root: string): Plugin {
  return {
    name: "keep-places",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        const file = relative(root, path);
        const places: Readonly<Record<string, string>> = {
          dirname: `(gw$clone + ${JSON.stringify(`/${dirname(file)}`)})`,
          filename: `(gw$clone + ${JSON.stringify(`/${file}`)})`,
          url: `new URL("file://" + gw$clone + ${JSON.stringify(`/${file}`)}).href`,
          main: "false",
        };
        const contents = text.replaceAll(PLACE, (_, word: string) => places[word] ?? "");
        return { contents: file === "src/kernel/defaults.ts" ? cheapen(contents) : contents, loader: "ts" };
      });
    },
  };
}

const loadPackagesLazily: Plugin = {
  name: "load-packages-lazily",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: PACKAGE }, ({ path, importer }) => {
      if (importer.includes("/node_modules/") || TAKEN.some((name) => `${path}/`.startsWith(`${name}/`))) return;
      return { path, namespace: "package", sideEffects: false };
    });
    onLoad({ filter: /^/, namespace: "package" }, ({ path }) => ({
      // Whoever imports the default of a package gets what is exported here: that of an ES module, with its other names on it.
      contents: `const it = gw$loadPackage(${JSON.stringify(path)});
const { default: own, ...names } = it;
module.exports = typeof own === "function" && it[Symbol.toStringTag] === "Module" ? Object.assign(own, names) : it;`,
    }));
  },
};

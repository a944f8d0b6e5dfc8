import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { build, buildSync, type Plugin } from "esbuild";
import { mergeParts } from "./merge-parts.ts";

/** What is plain JavaScript and loaded by what is started often: taken into the programs, the rest stays a package. */
export const TAKEN = ["commander", "hpke", "jose", "@modelcontextprotocol/server", "yaml"];
const PROGRAMS = ["gateway", "gw", "gw-box", "gw-ident", "gw-keeper", "gw-ssh"];
/** The bundler asks a plugin about nothing but what its filter names: each question costs more than most files. */
const OF_NODE = new RegExp(`^(?:node:.+|${builtinModules.filter((name) => /^[a-z0-9_/]+$/.test(name)).join("|")})$`);
// The bundler and the compiler are done in seconds, a third of which would go into collecting memory that is gone with them. All
// types want a little more than a gigabyte: with that as the limit, it was collected again and again.
Object.assign(process.env, { GOGC: "off", GOMEMLIMIT: "2GiB", ...process.env });
// One character that is no ASCII would double a whole file in memory.
const FORM = { bundle: true, format: "esm", platform: "node", charset: "ascii", legalComments: "none" } as const;

/** One file without dependencies from a program, for hosts that have Node 18 or newer and nothing else. */
export function bundle(entry: string, title: string): string {
  const banner = { js: `#!/usr/bin/env node\n// ${title}` };
  const absWorkingDir = join(import.meta.dirname, "..");
  const options = { ...FORM, absWorkingDir, entryPoints: [resolve(entry)], banner, target: "node18" };
  const { outputFiles } = buildSync({ ...options, write: false });
  return outputFiles[0]?.text ?? "";
}

/**
 * Makes few files of the many that our compiled programs load at their start, in the place of the programs. All other
 * files of `dist` stay: what is found by its path, such as a worker, is found where it was.
 */
export async function bundlePrograms(root: string, dist: string): Promise<void> {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const programs = join(dist, "src", "programs");
  // Every name within one folder: what is made says nothing of where it was made, and is the same wherever that is.
  const packages = join(dist, "node_modules");
  symlinkSync(join(root, "node_modules"), packages);
  try {
    for (const name of PROGRAMS) {
      const { outputFiles, metafile } = await build({
        ...FORM,
        entryPoints: [join(programs, `${name}.js`)],
        outdir: programs,
        write: false,
        metafile: true,
        allowOverwrite: true,
        splitting: true,
        chunkNames: `part-${name}-[hash]`,
        target: "node24",
        absWorkingDir: dist,
        preserveSymlinks: true,
        external: Object.keys(dependencies).filter((name) => !TAKEN.includes(name)),
        plugins: [keepPlaces(dist, packages, programs), requirePackages, loadNames, loadLazily],
        logLevel: "error",
      });
      const parts = await mergeParts(`${name}.js`, outputFiles, metafile);
      for (const [part, text] of parts) writeFileSync(join(programs, part), text);
    }
  } finally {
    rmSync(packages);
  }
}

/** A file that asks where it stands is answered as before, although its code now stands among the programs. */
function keepPlaces(dist: string, packages: string, programs: string): Plugin {
  return {
    name: "keep-places",
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const ours = path.startsWith(dist) && !path.startsWith(packages);
        const code = ours ? readFileSync(path, "utf8") : "";
        if (!code.includes("import.meta")) return undefined;
        const file = relative(programs, path);
        const contents = code
          .replaceAll("import.meta.dirname", `(import.meta.dirname + ${JSON.stringify(`/${dirname(file)}`)})`)
          .replaceAll("import.meta.filename", JSON.stringify(path.slice(dist.length)))
          .replaceAll("import.meta.url", `new URL(${JSON.stringify(file)}, import.meta.url).href`);
        return { contents, loader: "js" };
      });
    },
  };
}

/**
 * A module of Node's that is imported has every export read at once, and some of those load much of Node: `node:http`
 * alone brings HTTP/2 and a WebSocket. Asked for in this way, what is used is read when it is used.
 */
export const loadLazily: Plugin = {
  name: "load-lazily",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: OF_NODE }, ({ path }) => ({ path, namespace: "node", sideEffects: false }));
    onLoad({ filter: /^/, namespace: "node" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** As an ES module it imports whole modules of Node's, which loads what nobody here uses: a twentieth of a gateway's start. */
const REQUIRED = /^koffi$/;

const requirePackages: Plugin = {
  name: "require-packages",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: REQUIRED }, ({ path }) => ({ path, namespace: "required" }));
    onLoad({ filter: /^/, namespace: "required" }, ({ path }) => ({
      contents: `export default process.getBuiltinModule("node:module").createRequire(import.meta.url)(${JSON.stringify(path)});`,
    }));
  },
};

/** Of what is imported, the names that are used, read once for all files; what is required by a package is left to the rule above. */
const loadNames: Plugin = {
  name: "load-names",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: OF_NODE }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "node-names", sideEffects: false } : undefined,
    );
    onLoad({ filter: /^/, namespace: "node-names" }, ({ path }) => ({ contents: namesOf(path) }));
  },
};

/** Each name by itself, in a form that is left out where nobody asks for it. */
function namesOf(path: string): string {
  const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => /^[A-Za-z_]\w*$/.test(name));
  return [
    `const all = /* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(path)});`,
    "const read = (name) => all[name];",
    "export { all as default };",
    ...names
      .filter((name) => name !== "default")
      .map((name) => `const _${name} = /* @__PURE__ */ read("${name}");\nexport { _${name} as ${name} };`),
  ].join("\n");
}

if (import.meta.main) {
  const [entry, out, title = "built from source"] = process.argv.slice(2);
  if (entry === undefined || out === undefined) {
    console.error("usage: bundle.ts ENTRY OUT [TITLE]");
    process.exit(2);
  }
  writeFileSync(out, bundle(entry, title), { mode: 0o755 });
}

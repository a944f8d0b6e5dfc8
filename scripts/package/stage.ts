import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../compile.ts";
import type { Dependency } from "./dependencies.ts";

/** For people who read or build the libraries: nothing loads these. */
const UNUSED = /(\.map|\.d\.[cm]?ts)$|\/koffi\/(doc|vendor)(\/|$)/;

export interface Stage {
  readonly root: string;
  readonly tree: string;
  readonly version: string;
  readonly epochS: number;
  readonly dependencies: readonly Dependency[];
  readonly bill: string;
}

/** Everything that is installed, at the place where it is installed. */
export async function stageTree(stage: Stage): Promise<void> {
  const { root, tree } = stage;
  const lib = join(tree, "usr", "lib", "gw");
  mkdirSync(lib, { recursive: true });
  // First, since the bundler reads there that all of it are modules.
  const { type, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, string>;
  const manifest = { name: "gw", version: stage.version, type, license };
  writeFileSync(join(lib, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await compile(join(lib, "dist"), { types: false });
  // A drop-in that was made from the unit of an earlier version names the program here. Not the folder: dpkg replaces none by a link.
  mkdirSync(join(lib, "dist", "programs"));
  symlinkSync("../src/programs/gateway.js", join(lib, "dist", "programs", "gateway.js"));
  for (const folder of ["bin", "packs"]) cpSync(join(root, folder), join(lib, folder), { recursive: true });
  for (const dependency of stage.dependencies) stageDependency(root, lib, dependency);
  mkdirSync(join(tree, "usr", "bin"), { recursive: true });
  symlinkSync("../lib/gw/bin/gw", join(tree, "usr", "bin", "gw"));
  stageSettings(stage);
  stagePages(stage, lib);
}

function stageDependency(root: string, lib: string, { path, name }: Dependency): void {
  const from = join(root, path);
  const to = join(lib, path);
  if (name !== "node") {
    const filter = (file: string): boolean => !UNUSED.test(file.slice(root.length));
    // Packages inside packages are listed themselves.
    cpSync(from, to, { recursive: true, filter: (file) => filter(file) && file !== join(from, "node_modules") });
    return;
  }
  mkdirSync(join(to, "bin"), { recursive: true });
  copyFileSync(join(from, "package.json"), join(to, "package.json"));
  copyFileSync(join(from, "bin", "node"), join(to, "bin", "node"));
  const platform = `node-${process.platform}-${process.arch}`;
  copyFileSync(join(from, "node_modules", platform, "LICENSE"), join(to, "LICENSE"));
}

function stageSettings({ root, tree }: Stage): void {
  const sources = join(root, "packaging");
  mkdirSync(join(tree, "etc", "gw"), { recursive: true });
  copyFileSync(join(sources, "gw.yaml"), join(tree, "etc", "gw", "gw.yaml"));
  cpSync(join(sources, "systemd"), join(tree, "usr", "lib", "systemd", "system"), { recursive: true });
}

function stagePages({ root, tree, version, epochS, bill }: Stage, lib: string): void {
  const share = join(tree, "usr", "share");
  const doc = join(share, "doc", "gw");
  mkdirSync(doc, { recursive: true });
  for (const name of ["README.md", "CHANGELOG.md"]) copyFileSync(join(root, name), join(doc, name));
  copyFileSync(join(root, "LICENSE"), join(doc, "copyright"));
  cpSync(join(root, "docs"), join(doc, "docs"), { recursive: true });
  writeFileSync(join(doc, "bom.cdx.json"), bill);
  // By the very program that was just put in place: a tree that does not run is not packed.
  const gw = (...args: readonly string[]): string => {
    const ran = spawnSync(join(lib, "bin", "gw"), args, { encoding: "utf8", env: { PATH: "/usr/bin:/bin" } });
    if (ran.status !== 0) throw new Error(`gw ${args.join(" ")} failed: ${ran.stderr}`);
    return ran.stdout;
  };
  if (gw("--version").trim() !== version) throw new Error("the staged program does not say its own version");
  const man = join(share, "man", "man1");
  mkdirSync(man, { recursive: true });
  // Packages are made again byte by byte: the date is that of the sources.
  gw("manual", man, "--date", new Date(epochS * 1000).toISOString().slice(0, 10));
  for (const [shell, folder, name] of [
    ["bash", "bash-completion/completions", "gw"],
    ["zsh", "zsh/vendor-completions", "_gw"],
    ["fish", "fish/vendor_completions.d", "gw.fish"],
  ] as const) {
    mkdirSync(join(share, folder), { recursive: true });
    writeFileSync(join(share, folder, name), gw("completion", shell));
  }
}

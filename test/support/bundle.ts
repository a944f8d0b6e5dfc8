import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { loadLazily } from "../../scripts/bundle.ts";

const root = dirname(dirname(import.meta.dirname));

/**
 * One file from a program of a test that is started again and again: loading hundreds of sources takes three times as
 * long as the whole of what such a program does. Whatever asks where it stands is answered with its place in the sources.
 */
export async function bundleProgram(file: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "gw-program-"));
  chmodSync(folder, 0o755);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const outfile = join(folder, `${basename(file, ".ts")}.mjs`);
  await build({
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    entryPoints: [file],
    outfile,
    external: ["esbuild", "koffi", "pg"],
    plugins: [loadLazily, keepPlaces],
    logLevel: "error",
  });
  return outfile;
}

const keepPlaces: Plugin = {
  name: "keep-places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8")
        .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
        .replaceAll("import.meta.filename", JSON.stringify(path))
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)),
    }));
  },
};

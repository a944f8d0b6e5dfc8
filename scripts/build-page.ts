import { join } from "node:path";
import { buildSync } from "esbuild";

const folder = join(import.meta.dirname, "..", "src", "console", "page");

/** The console's page as two files: for the package, and for a clone at each start of `gw console`. */
export function buildPage(): { readonly script: Buffer; readonly style: Buffer } {
  const { outputFiles } = buildSync({
    entryPoints: [join(folder, "main.tsx"), join(folder, "page.css")],
    outdir: folder,
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "silent",
  });
  const find = (end: string): Buffer => Buffer.from(outputFiles.find(({ path }) => path.endsWith(end))?.contents ?? []);
  return { script: find("main.js"), style: find("page.css") };
}

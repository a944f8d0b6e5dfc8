import { basename } from "node:path";
import type { Metafile, OutputFile, Plugin } from "esbuild";
import { build } from "esbuild";

/** A generated file by its name, as its text. */
export type Parts = ReadonlyMap<string, string>;

const IMPORT = /^import (?:\{([^}]*)\} from )?"\.\/([^"]+)";\n/gm;

/**
 * The bundler cuts a program into one part for every set of commands that share it: half a hundred at every start, and Node
 * takes longer to link them than to run them. What always loads together is put into one part here; what a command asks
 * for later stays apart and takes its names from there. The program itself stays apart too: it waits at its top level, and
 * what imports a module that waits would wait for it.
 */
export async function mergeParts(program: string, outputs: readonly OutputFile[], meta: Metafile): Promise<Parts> {
  const parts = new Map(outputs.map(({ path, text }) => [basename(path), text]));
  const together = closureOf(program, meta);
  together.delete(program);
  const base = `part-${program}`;
  const exported = new Map<string, string>();
  const apart = new Map<string, string>();
  for (const [name, text] of parts) if (!together.has(name)) apart.set(name, text.replace(IMPORT, fromBase));

  function fromBase(statement: string, names: string | undefined, part: string): string {
    if (!together.has(part)) return statement;
    if (names === undefined) return `import "./${base}";\n`;
    const renamed = names.split(",").map((word) => {
      const [there = "", here = there] = word.trim().split(" as ");
      const name = `${there}_${part.slice(0, -3).replaceAll("-", "_")}`;
      exported.set(name, `export { ${there} as ${name} } from "./${part}";`);
      return `${name} as ${here}`;
    });
    return `import { ${renamed.join(", ")} } from "./${base}";\n`;
  }

  const { outputFiles } = await build({
    stdin: {
      contents: [...together]
        .map((part) => `import "./${part}";`)
        .concat([...exported.values()])
        .join("\n"),
    },
    bundle: true,
    format: "esm",
    platform: "node",
    charset: "utf8",
    legalComments: "none",
    target: "node24",
    write: false,
    logLevel: "error",
    plugins: [onlyThese(parts, together)],
  });
  return apart.set(base, outputFiles[0]?.text ?? "");
}

/** What a program imports, and what that imports, in the order in which it runs. */
function closureOf(program: string, { outputs }: Metafile): Set<string> {
  const found = new Set<string>();
  const imports = new Map(Object.entries(outputs).map(([path, { imports }]) => [basename(path), imports]));
  const visit = (name: string, path: readonly string[]): void => {
    if (found.has(name) || path.includes(name)) return;
    for (const { kind, path: to, external } of imports.get(name) ?? [])
      if (kind === "import-statement" && external !== true) visit(basename(to), [...path, name]);
    found.add(name);
  };
  visit(program, []);
  return found;
}

function onlyThese(parts: Parts, together: ReadonlySet<string>): Plugin {
  return {
    name: "only-these",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^/ }, ({ path }) =>
        together.has(basename(path)) ? { path: basename(path), namespace: "part" } : { path, external: true },
      );
      onLoad({ filter: /^/, namespace: "part" }, ({ path }) => ({ contents: parts.get(path) ?? "" }));
    },
  };
}

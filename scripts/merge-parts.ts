import { basename } from "node:path";
import { build, type Metafile, type OutputFile, type Plugin } from "esbuild";

/** Generated files, by their names. */
type Parts = ReadonlyMap<string, string>;
type Group = ReadonlySet<string>;

const IMPORT = /^import (?:\{([^}]*)\} from )?"\.\/([^"]+)";\n/gm;

/**
 * The bundler cuts a program into one part for every set of commands that share it: half a hundred at every start, and Node
 * takes longer to link them than to run them. What always loads together is put into one part here, and what many commands
 * load into a second one; the rest stays apart and takes its names from there. The program itself stays apart too: it waits
 * at its top level, and what imports a module that waits would wait for it.
 */
export async function mergeParts(program: string, outputs: readonly OutputFile[], meta: Metafile): Promise<Parts> {
  const parts = new Map(outputs.map(({ path, text }) => [basename(path), text]));
  const groups = groupsOf(program, meta);
  const groupOf = (part: string): string | undefined => [...groups].find(([, group]) => group.has(part))?.[0];
  const exported = new Map([...groups.keys()].map((name) => [name, new Set<string>()]));
  const linked = new Map([...parts].map(([name, text]) => [name, text.replace(IMPORT, fromGroup(groupOf(name)))]));

  function fromGroup(own: string | undefined) {
    return (statement: string, names: string | undefined, part: string): string => {
      const group = groupOf(part);
      if (group === undefined || group === own) return statement;
      if (names === undefined) return `import "./${group}";\n`;
      const renamed = names.split(",").map((word) => {
        const [there = "", here = there] = word.trim().split(" as ");
        const name = `${there}_${part.slice(0, -".js".length).replaceAll("-", "_")}`;
        exported.get(group)?.add(`export { ${there} as ${name} } from "./${part}";`);
        return `${name} as ${here}`;
      });
      return `import { ${renamed.join(", ")} } from "./${group}";\n`;
    };
  }

  const made = new Map([...linked].filter(([name]) => groupOf(name) === undefined));
  for (const [name, group] of groups) {
    const imports = [...group].map((part) => `import "./${part}";`);
    made.set(name, await join([...imports, ...(exported.get(name) ?? [])].join("\n"), linked, group));
  }
  return made;
}

/** What the program loads at every start, and what at least a quarter of all that it loads later has in common. */
function groupsOf(program: string, { outputs }: Metafile): ReadonlyMap<string, Group> {
  const imports = new Map(Object.entries(outputs).map(([path, { imports }]) => [basename(path), imports]));
  const always = closureOf(program, imports);
  const later = Object.entries(outputs)
    .filter(([path, { entryPoint }]) => entryPoint !== undefined && basename(path) !== program)
    .map(([path]) => basename(path));
  const closures = later.map((name) => closureOf(name, imports));
  const often = [...new Set(closures.flatMap((closure) => [...closure]))].filter(
    (part) =>
      !always.has(part) &&
      !later.includes(part) &&
      closures.filter((closure) => closure.has(part)).length * 4 >= closures.length,
  );
  always.delete(program);
  const name = program.slice(0, -".js".length);
  const groups = [
    [`part-${name}.js`, always],
    [`part-${name}-often.js`, new Set(often)],
  ] as const;
  return new Map(groups.filter(([, group]) => group.size > 0));
}

/** What a part imports, and what that imports, in the order in which it runs. */
function closureOf(first: string, imports: ReadonlyMap<string, Metafile["outputs"][string]["imports"]>): Set<string> {
  const found = new Set<string>();
  const visit = (name: string, path: readonly string[]): void => {
    if (found.has(name) || path.includes(name)) return;
    for (const { kind, path: to, external } of imports.get(name) ?? [])
      if (kind === "import-statement" && external !== true) visit(basename(to), [...path, name]);
    found.add(name);
  };
  visit(first, []);
  return found;
}

async function join(contents: string, parts: Parts, group: Group): Promise<string> {
  const onlyThese: Plugin = {
    name: "only-these",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^/ }, ({ path }) =>
        group.has(basename(path)) ? { path: basename(path), namespace: "part" } : { path, external: true },
      );
      onLoad({ filter: /^/, namespace: "part" }, ({ path }) => ({ contents: parts.get(path) ?? "" }));
    },
  };
  const { outputFiles } = await build({
    stdin: { contents },
    bundle: true,
    format: "esm",
    platform: "node",
    charset: "ascii",
    legalComments: "none",
    target: "node24",
    write: false,
    logLevel: "error",
    plugins: [onlyThese],
  });
  return outputFiles[0]?.text ?? "";
}

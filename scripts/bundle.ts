import { readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, resolve } from "node:path";

/**
 * Makes one file without dependencies from a program and the files of ours that it imports, for hosts that have Node and
 * nothing else. Our sources name what they import and export and nothing more, so that each can become a function.
 */
export function bundle(entry: string, title: string): string {
  const order: Module[] = [];
  const seen = new Map<string, Module>();
  load(resolve(entry), seen, order, []);
  const outside = new Map<string, Set<string>>();
  for (const { builtins } of order) {
    for (const [name, members] of builtins) {
      outside.set(name, new Set([...(outside.get(name) ?? []), ...members]));
    }
  }
  const head = [...outside]
    .sort()
    .map(([name, members]) => `import { ${[...members].sort().join(", ")} } from "${name}";`);
  const bodies = order.map((module, index) => writeModule(module, index, order));
  return [`#!/usr/bin/env node\n// ${title}`, ...head, ...bodies].join("\n").replaceAll(/\n{3,}/g, "\n\n");
}

interface Module {
  readonly path: string;
  readonly code: string;
  readonly imports: readonly { readonly path: string; readonly names: readonly string[] }[];
  readonly builtins: ReadonlyMap<string, readonly string[]>;
  readonly exports: readonly string[];
}

const IMPORT = /^import \{([^}]*)\} from "([^"]+)";?$/gm;
const EXPORT = /^export (?=(?:async function|function|const|class) ([A-Za-z0-9_]+))/gm;

function load(path: string, seen: Map<string, Module>, order: Module[], trail: readonly string[]): void {
  if (trail.includes(path)) throw new Error(`${path} imports itself`);
  if (seen.has(path)) return;
  const module = readModule(path);
  seen.set(path, module);
  for (const { path: next } of module.imports) load(next, seen, order, [...trail, path]);
  order.push(module);
}

function readModule(path: string): Module {
  const imports: { path: string; names: string[] }[] = [];
  const builtins = new Map<string, string[]>();
  const exports: string[] = [];
  const stripped = stripTypeScriptTypes(readFileSync(path, "utf8"));
  const code = stripped
    .replaceAll(IMPORT, (_line, list: string, from: string) => {
      const names = list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "");
      if (names.some((name) => !/^[A-Za-z0-9_]+$/.test(name)))
        throw new Error(`${path}: ${list} is not a plain import`);
      if (from.startsWith("node:")) builtins.set(from, names);
      else imports.push({ path: resolve(dirname(path), from), names });
      return "";
    })
    .replaceAll(EXPORT, (_word, name: string) => {
      exports.push(name);
      return "";
    });
  const left = /^\s*(?:import|export)\b.*$/m.exec(code);
  if (left !== null) throw new Error(`${path}: cannot bundle: ${left[0]}`);
  return { path, code: code.replaceAll(/[ \t]+$/gm, "").trim(), imports, builtins, exports };
}

function writeModule(module: Module, index: number, order: readonly Module[]): string {
  const taken = module.imports.map(({ path, names }) => {
    const from = order.findIndex((each) => each.path === path);
    return names.length === 0 ? "" : `const { ${names.join(", ")} } = room${from};\n`;
  });
  const body = `${taken.join("")}${module.code}`;
  // The last one is the program itself.
  if (index === order.length - 1) return `${body}\n`;
  return `const room${index} = (() => {\n${body}\nreturn { ${module.exports.join(", ")} };\n})();\n`;
}

if (import.meta.main) {
  const [entry, out, title = "built from source"] = process.argv.slice(2);
  if (entry === undefined || out === undefined) {
    console.error("usage: bundle.ts ENTRY OUT [TITLE]");
    process.exit(2);
  }
  writeFileSync(out, bundle(entry, title), { mode: 0o755 });
}

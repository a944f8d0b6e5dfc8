import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Names the sources in a text with places in `file`, which was made of them. */
export function nameSources(file: string): (text: string) => string {
  let map: SourceMap | undefined;
  /** What follows the file's name: `:LINE:COLUMN`, counted from one. */
  const nameOne = (rest: string): string => {
    const [at, line, column] = /^:([0-9]+):([0-9]+)/.exec(rest) ?? [];
    map ??= new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")));
    const found = map.findEntry(Number(line) - 1, Number(column) - 1);
    if (at === undefined || !("originalSource" in found)) return file + rest;
    const source = resolve(dirname(file), found.originalSource);
    return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}${rest.slice(at.length)}`;
  };
  return (text) => {
    if (!text.includes(file)) return text;
    const [before, ...places] = text.replaceAll(pathToFileURL(file).href, file).split(file);
    return `${before}${places.map(nameOne).join("")}`;
  };
}

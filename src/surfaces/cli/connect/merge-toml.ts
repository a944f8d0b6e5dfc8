import { isDeepStrictEqual } from "node:util";
import { parse, stringify, TomlError } from "smol-toml";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { nest, put, tableAt } from "./place.ts";

/**
 * Writes one table and leaves every other byte of the file as it is. TOML can say the same thing in several ways; only the
 * plain table is changed by a program. The file is read again afterwards: where anything but that table would be another,
 * it is left to a person. Denied when the text is not TOML.
 */
export function mergeToml(text: string, path: readonly string[], record: JsonObject, file: string): string {
  const before = read(text, file);
  const whole = stringify(nest(path, record));
  const block = whole.slice(whole.indexOf(`[${path.join(".")}]`)).trimEnd();
  const lines = text.split("\n");
  const { from, end } = findTable(lines, path);
  const own = tableAt(tryRead(lines.slice(from, end).join("\n")) ?? {}, path) ?? {};
  // Tables below ours, such as its `env`, stay where they are.
  const kept = Object.entries(tableAt(before, path) ?? {}).filter(([name]) => !Object.hasOwn(own, name));
  const expected = put(before, path, { ...record, ...Object.fromEntries(kept) });
  const merged = from === end ? append(text, block) : [...lines.slice(0, from), block, ...lines.slice(end)].join("\n");
  if (!isDeepStrictEqual(tryRead(merged), expected)) throw byHand(path, file);
  return merged;
}

function append(text: string, block: string): string {
  if (text.trim() === "") return `${block}\n`;
  return `${text}${text.endsWith("\n") ? "" : "\n"}\n${block}\n`;
}

/** The header and the keys right below it. What follows the last key, comments too, belongs to what comes next. */
function findTable(lines: readonly string[], path: readonly string[]) {
  const from = lines.findIndex((line) => isHeaderOf(line, path));
  if (from < 0) return { from: 0, end: 0 };
  let end = from + 1;
  for (let at = end; at < lines.length && !isHeader(lines[at] ?? ""); at++) {
    if (/^[ \t]*[^#\s]/.test(lines[at] ?? "")) end = at + 1;
  }
  return { from, end };
}

function isHeaderOf(line: string, path: readonly string[]): boolean {
  const table = isHeader(line) ? tryRead(line) : undefined;
  return isDeepStrictEqual(table, nest(path, {}));
}

function isHeader(line: string): boolean {
  return line.trimStart().startsWith("[") && tryRead(line) !== undefined;
}

function read(text: string, file: string): JsonObject {
  try {
    // Cloned, because its objects have no prototype and would be equal to none of ours.
    return structuredClone(parse(text, { integersAsBigInt: "asNeeded" })) as unknown as JsonObject;
  } catch (error) {
    if (!(error instanceof TomlError || error instanceof RangeError)) throw error;
    const where =
      error instanceof TomlError ? `line ${error.line}: ${error.message.split("\n")[0]}` : "nested too deeply";
    throw new Denied(
      "client_config_invalid",
      `${file} is not valid TOML (${where}) and was left untouched. Mend it, or paste the configuration by hand.`,
    );
  }
}

function tryRead(text: string): JsonObject | undefined {
  try {
    return read(text, "");
  } catch (error) {
    if (error instanceof Denied) return undefined;
    throw error;
  }
}

function byHand(path: readonly string[], file: string): Denied {
  return new Denied(
    "client_config_invalid",
    `${file} already defines ${path.join(".")} in a way that a program should not change. It was left untouched: edit it by hand.`,
  );
}

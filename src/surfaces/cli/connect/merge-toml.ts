import { Denied, Fault } from "../../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../kernel/json.ts";
import { readToml, type TomlStatement, TomlTrouble } from "./read-toml.ts";

/** Writes one table and leaves every other byte of the file as it is. Denied when the text is not TOML. */
export function mergeToml(text: string, path: readonly string[], record: JsonObject, file: string): string {
  const statements = parse(text, file);
  const found = statements.find((one) => one.kind === "table" && samePath(one.path, path));
  const block = writeTable(path, record);
  requireOneWay(statements, found, path, file);
  const merged = found === undefined ? append(text, block) : replace(text, statements, found, block);
  const after = parse(merged, file).filter((one) => one.kind === "table" && samePath(one.path, path));
  if (after.length !== 1) throw new Fault(`merging into ${file} did not give one table`);
  return merged;
}

function append(text: string, block: string): string {
  if (text.trim() === "") return block;
  return `${text}${text.endsWith("\n") ? "" : "\n"}\n${block}`;
}

/** The header and the keys right below it. What follows the last key, comments too, belongs to what comes next. */
function replace(text: string, statements: readonly TomlStatement[], found: TomlStatement, block: string): string {
  const from = statements.indexOf(found);
  let end = found.end;
  for (const { kind, end: next } of statements.slice(from + 1)) {
    if (kind !== "key") break;
    end = next;
  }
  return text.slice(0, found.start) + block + text.slice(end);
}

/** TOML can say the same thing in several ways; only the plain table is changed by a program. */
function requireOneWay(
  statements: readonly TomlStatement[],
  found: TomlStatement | undefined,
  path: readonly string[],
  file: string,
): void {
  const from = found === undefined ? -1 : statements.indexOf(found);
  const owned = new Set<TomlStatement>();
  for (const one of from < 0 ? [] : statements.slice(from + 1)) {
    if (one.kind !== "key") break;
    owned.add(one);
  }
  const other = statements.find((one) => {
    if (one === found || owned.has(one)) return false;
    if (one.kind === "table") return false;
    // A key or an array of tables at, above or right below the place.
    return startsWith(path, one.path) || (one.kind === "key" && startsWith(one.path, path) && !hasOwnTable(one));
  });
  if (other === undefined) return;
  throw new Denied(
    "client_config_invalid",
    `${file} already defines ${other.path.join(".")} in a way that a program should not change. It was left untouched: edit it by hand.`,
  );

  /** Keys of a table below ours, such as its `env`, stay where they are. */
  function hasOwnTable(key: TomlStatement): boolean {
    const header = statements.slice(0, statements.indexOf(key)).findLast(({ kind }) => kind !== "key");
    return header !== undefined && header.path.length > path.length && startsWith(header.path, path);
  }
}

function parse(text: string, file: string): readonly TomlStatement[] {
  try {
    return readToml(text);
  } catch (error) {
    if (!(error instanceof TomlTrouble)) throw error;
    throw new Denied(
      "client_config_invalid",
      `${file} is not valid TOML (${error.message}) and was left untouched. Mend it, or paste the configuration by hand.`,
    );
  }
}

function writeTable(path: readonly string[], record: JsonObject): string {
  const lines = Object.entries(record).map(([name, value]) => `${name} = ${writeValue(value)}`);
  return [`[${path.join(".")}]`, ...lines, ""].join("\n");
}

function writeValue(value: JsonValue): string {
  if (typeof value === "string") return JSON.stringify(value).replaceAll("\u007f", "\\u007F");
  if (Array.isArray(value)) return `[${value.map((one: JsonValue) => writeValue(one)).join(", ")}]`;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Fault("a client's record holds nothing but text, numbers, flags and lists");
}

function samePath(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && startsWith(one, other);
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.length <= path.length && start.every((name, index) => name === path[index]);
}

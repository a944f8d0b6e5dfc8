import { isDeepStrictEqual } from "node:util";
import jsonc from "jsonc-parser";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { nest, put } from "./place.ts";

const TOLERANT = { allowTrailingComma: true };

/** Puts `record` at `path`; comments and every other byte of the text stay. Denied when the text is no JSON, with or without comments. */
export function mergeJson(text: string, path: readonly string[], record: JsonObject, file: string): string {
  if (text.trim() === "") return `${JSON.stringify(nest(path, record), null, 2)}\n`;
  const before = parse(text, file);
  requireObjects(before, path.slice(0, -1), file);
  const expected = put(before, path, record);
  if (isDeepStrictEqual(before, expected)) return text;
  const merged = splice(text, path, record);
  if (!isDeepStrictEqual(parse(merged, file), expected)) {
    throw new Denied(
      "client_config_invalid",
      `${file} says something twice on the way to "${path.join(".")}" and was left untouched: edit it by hand.`,
    );
  }
  return merged;
}

/** What is there is exchanged; what is not becomes the first member of the innermost object that is. */
function splice(text: string, path: readonly string[], record: JsonObject): string {
  const root = jsonc.parseTree(text, [], TOLERANT);
  const nodeAt = (depth: number) => root && jsonc.findNodeAtLocation(root, path.slice(0, depth));
  let depth = path.length;
  while (nodeAt(depth) === undefined) depth--;
  const { offset = 0, length = 0, children = [] } = nodeAt(depth) ?? {};
  const missing = path.slice(depth);
  const lineOf = lines(text);
  const written = (value: JsonObject, at: number): string =>
    JSON.stringify(value, null, lineOf.unit).split("\n").join(lineOf(at));
  if (missing.length === 0) return text.slice(0, offset) + written(record, depth) + text.slice(offset + length);
  const value = written(nest(missing.slice(1), record), depth + 1);
  const member = `${lineOf(depth + 1)}${JSON.stringify(missing[0])}: ${value}`;
  const rest = text.slice(offset + 1);
  if (children.length > 0) return `${text.slice(0, offset + 1)}${member},${rest}`;
  const after = rest.trimStart();
  return text.slice(0, offset + 1) + member + (after.startsWith("}") ? lineOf(depth) + after : ` ${after}`);
}

function parse(text: string, file: string): JsonObject {
  const errors: jsonc.ParseError[] = [];
  let value: JsonValue | undefined;
  try {
    value = jsonc.parse(text, errors, TOLERANT) as JsonValue | undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw notJson("nested too deeply", file);
  }
  const [first] = errors;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw notJson(`${jsonc.printParseErrorCode(first.error)} on line ${line}`, file);
  }
  if (!isJsonObject(value)) throw notAnObject([], file);
  return value;
}

function requireObjects(root: JsonObject, path: readonly string[], file: string): void {
  let value: JsonValue = root;
  for (const [index, name] of path.entries()) {
    const next: JsonValue | undefined = value[name];
    if (next === undefined) return;
    if (!isJsonObject(next)) throw notAnObject(path.slice(0, index + 1), file);
    value = next;
  }
}

function notJson(why: string, file: string): Denied {
  return new Denied(
    "client_config_invalid",
    `${file} is not JSON (${why}) and was left untouched. Mend it, or paste the configuration by hand.`,
  );
}

function notAnObject(path: readonly string[], file: string): Denied {
  const what = path.length === 0 ? "Its top" : `"${path.join(".")}"`;
  return new Denied("client_config_invalid", `${what} in ${file} is not an object; the file was left untouched.`);
}

/** The beginning of a line at a depth, as the file has it: told by its first indented line. */
function lines(text: string) {
  const unit = (/\n([ \t]+)\S/.exec(text)?.[1] ?? "  ").slice(0, 8);
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  return Object.assign((depth: number) => newline + unit.repeat(depth), { unit });
}

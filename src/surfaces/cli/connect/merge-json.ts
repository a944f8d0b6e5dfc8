import { isDeepStrictEqual } from "node:util";
import { parseJsonValue } from "../../../conventions/request/json/parse.ts";
import { Denied, Fault } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { findMember } from "./find-member.ts";

/** Puts `record` at `path` and leaves every other byte of the text as it is. Denied when the text is not strict JSON. */
export function mergeJson(text: string, path: readonly string[], record: JsonObject, file: string): string {
  if (text.trim() === "") return `${JSON.stringify(nest(path, record), null, 2)}\n`;
  const before = parse(text, file);
  const expected = plain(put(before, path, record));
  if (isDeepStrictEqual(plain(before), expected)) return text;
  const unit = indentOf(text);
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const place = locate(text, before, path, file);
  const written = JSON.stringify(nest(place.missing.slice(1), record), null, unit)
    .split("\n")
    .join(`${newline}${unit.repeat(place.depth)}`);
  let merged: string;
  if (place.kind === "replace") merged = text.slice(0, place.start) + written + text.slice(place.end);
  else {
    const line = `${newline}${unit.repeat(place.depth)}`;
    const member = `${JSON.stringify(place.missing[0])}: ${written}`;
    const rest = place.empty ? `${newline}${unit.repeat(place.depth - 1)}` : ",";
    merged = text.slice(0, place.at) + line + member + rest + text.slice(place.empty ? place.end : place.at);
  }
  if (!isDeepStrictEqual(plain(parse(merged, file)), expected)) {
    throw new Fault(`merging into ${file} would have changed something else`);
  }
  return merged;
}

type Place =
  | {
      readonly kind: "replace";
      readonly start: number;
      readonly end: number;
      readonly depth: number;
      readonly missing: readonly string[];
    }
  | {
      readonly kind: "insert";
      /** Right after the brace that opens the object. */
      readonly at: number;
      /** Right before the brace that closes it. */
      readonly end: number;
      readonly empty: boolean;
      readonly depth: number;
      readonly missing: readonly string[];
    };

function locate(text: string, root: JsonObject, path: readonly string[], file: string): Place {
  let value: JsonValue = root;
  let range = findMember(text, []);
  for (const [index, name] of path.entries()) {
    if (!isJsonObject(value)) throw notAnObject(path.slice(0, index), file);
    const next: JsonValue | undefined = value[name];
    if (next === undefined) {
      const { start, end } = range;
      const empty = Object.keys(value).length === 0;
      return { kind: "insert", at: start + 1, end: end - 1, empty, depth: index + 1, missing: path.slice(index) };
    }
    value = next;
    range = findMember(text, path.slice(0, index + 1));
  }
  return { kind: "replace", ...range, depth: path.length, missing: path.slice(-1) };
}

function parse(text: string, file: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJsonValue(Buffer.from(text, "utf8"));
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    throw new Denied(
      "client_config_invalid",
      `${file} is not strict JSON (${error.message}) and was left untouched. Mend it, or paste the configuration by hand.`,
    );
  }
  if (!isJsonObject(value)) throw notAnObject([], file);
  return value;
}

function notAnObject(path: readonly string[], file: string): Denied {
  const what = path.length === 0 ? "Its top" : `"${path.join(".")}"`;
  return new Denied("client_config_invalid", `${what} in ${file} is not an object; the file was left untouched.`);
}

function nest(path: readonly string[], record: JsonObject): JsonObject {
  return path.reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), record);
}

function put(object: JsonObject, [name, ...rest]: readonly string[], record: JsonObject): JsonObject {
  if (name === undefined) return record;
  const inner = object[name];
  return { ...object, [name]: put(isJsonObject(inner) ? inner : {}, rest, record) };
}

function plain(value: JsonObject): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** How the file indents, told by its first indented line. */
function indentOf(text: string): string {
  const found = /\n([ \t]+)\S/.exec(text);
  return found?.[1] === undefined ? "  " : found[1].slice(0, 8);
}

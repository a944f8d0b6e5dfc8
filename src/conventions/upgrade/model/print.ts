import { readToken } from "../../../../packages/request/src/pointer.ts";
import { canonicalJson, digestText } from "../../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { sortText } from "./order.ts";

/** Members of a schema that say nothing about what it takes. */
export const PROSE: ReadonlySet<string> = new Set([
  "description",
  "title",
  "summary",
  "example",
  "examples",
  "externalDocs",
  "xml",
  "$comment",
]);
const SETS = new Set(["required", "enum", "type", "oneOf", "anyOf", "allOf"]);
/** Below these, member names are the author's: a property may well be called `title`. */
const MAPS = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]);
const DATA = new Set(["default", "enum", "const", "required"]);
const COMPONENT = /^#\/(?:components\/schemas|definitions)\/([^/]+)$/;

export interface Prints {
  schema(value: JsonValue): string;
  /** Names of the components that a schema refers to directly. */
  references(value: JsonValue): readonly string[];
}

/** Digests of digests, each object once: sharing in the document stays sharing here. */
export function createPrints(): Prints {
  const known = new WeakMap<object, Map<Mode, string>>();
  const names = new WeakMap<object, readonly string[]>();

  const print = (value: JsonValue, mode: Mode): string => {
    if (typeof value !== "object" || value === null) return canonicalJson(value);
    const memo = known.get(value) ?? new Map<Mode, string>();
    known.set(value, memo);
    const found = memo.get(mode) ?? digestText(isJsonObject(value) ? members(value, mode) : items(value, mode));
    memo.set(mode, found);
    return found;
  };
  const items = (value: readonly JsonValue[], mode: Mode): string =>
    `[${value.map((item) => print(item, mode)).join()}]`;
  const members = (value: JsonObject, mode: Mode): string =>
    Object.keys(value)
      .filter((name) => mode !== "schema" || (!PROSE.has(name) && !name.startsWith("x-")))
      .sort()
      .map((name) => `${JSON.stringify(name)}:${member(name, value[name] ?? null, mode)}`)
      .join();
  const member = (name: string, value: JsonValue, mode: Mode): string => {
    if (mode === "map") return print(value, "schema");
    if (mode === "data") return print(value, "data");
    const inner = MAPS.has(name) ? "map" : DATA.has(name) ? "data" : "schema";
    if (SETS.has(name) && Array.isArray(value))
      return `{${value
        .map((item) => print(item, inner))
        .sort()
        .join()}}`;
    return print(value, inner);
  };

  const references = (value: JsonValue): readonly string[] => {
    if (typeof value !== "object" || value === null) return [];
    const memo = names.get(value);
    if (memo !== undefined) return memo;
    const found: string[] = [];
    const target = isJsonObject(value) ? value["$ref"] : undefined;
    const name = typeof target === "string" ? COMPONENT.exec(target)?.[1] : undefined;
    if (name !== undefined) found.push(decode(name));
    for (const child of Object.values(value)) found.push(...references(child));
    const once = sortText(found);
    names.set(value, once);
    return once;
  };

  return { schema: (value) => print(value, "schema"), references };
}

type Mode = "schema" | "map" | "data";

function decode(segment: string): string {
  try {
    return readToken(decodeURIComponent(segment));
  } catch {
    return segment;
  }
}

import type { JsonObject, JsonValue } from "../../../kernel/json.ts";

/** An object with nothing but this record, at this path. */
export function nest(path: readonly string[], record: JsonObject): JsonObject {
  return path.reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), record);
}

/** The same object with this record at the path, in the place of what stands there. */
export function put(object: JsonObject, [name, ...rest]: readonly string[], record: JsonObject): JsonObject {
  if (name === undefined) return record;
  return { ...object, [name]: put(tableAt(object, [name]) ?? {}, rest, record) };
}

/** The object at the path; undefined where there is none, or something else. */
export function tableAt(object: JsonObject, path: readonly string[]): JsonObject | undefined {
  let value: JsonValue | undefined = object;
  for (const name of path) value = isTable(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isTable(value) ? value : undefined;
}

/** No list, and no date of TOML. */
function isTable(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

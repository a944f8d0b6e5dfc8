/** What a strict JSON text can hold. Objects have no prototype, so `__proto__` is a name like any other. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [name: string]: JsonValue };

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every text in a value, in order; names of members are none. */
export function textsIn(value: JsonValue): readonly string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value as Readonly<Record<string, JsonValue>>).flatMap(textsIn);
}

import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";

const DEPTH = 5;
const ITEMS = 100;
const SAFE = Number.MAX_SAFE_INTEGER;

/** A schema that takes all of these values and as little beside them as can be said without knowing what they are. */
export function inferSchema(values: readonly JsonValue[], depth = 0): JsonObject | null {
  const present = values.filter((value) => value !== null);
  const [first] = present;
  if (first === undefined || depth > DEPTH) return null;
  const kind = kindOf(first);
  if (present.some((value) => kindOf(value) !== kind)) return present.every(isNumber) ? withNull(NUMBER, values) : null;
  switch (kind) {
    case "string":
      return withNull({ type: "string", maxLength: roomFor(present as string[]) }, values);
    case "integer":
      return withNull({ type: "integer", minimum: present.some(isNegative) ? -SAFE : 0, maximum: SAFE }, values);
    case "number":
      return withNull(NUMBER, values);
    case "boolean":
      return withNull({ type: "boolean" }, values);
    case "array": {
      const items = inferSchema((present as JsonValue[][]).flat(), depth + 1);
      return items === null ? null : withNull({ type: "array", maxItems: ITEMS, items }, values);
    }
    case "object":
      return objectSchema(present as JsonObject[], values, depth);
  }
}

function objectSchema(objects: readonly JsonObject[], values: readonly JsonValue[], depth: number): JsonObject | null {
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  const properties: Record<string, JsonValue> = {};
  for (const name of names) {
    const schema = inferSchema(
      objects.flatMap((one) => (one[name] === undefined ? [] : [one[name]])),
      depth + 1,
    );
    // Nothing but null was seen there: some text, until a person says what.
    properties[name] = schema ?? { type: ["string", "null"], maxLength: 256 };
  }
  const required = names.filter((name) => objects.every((one) => one[name] !== undefined));
  return withNull({ type: "object", required, properties }, values);
}

const NUMBER: JsonObject = { type: "number", minimum: -SAFE, maximum: SAFE };

function withNull(schema: JsonObject, values: readonly JsonValue[]): JsonObject {
  return values.includes(null) ? { ...schema, type: [String(schema["type"]), "null"] } : schema;
}

function kindOf(value: JsonValue): "string" | "integer" | "number" | "boolean" | "array" | "object" {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  return isJsonObject(value) ? "object" : "array";
}

function isNumber(value: JsonValue): boolean {
  return typeof value === "number";
}

function isNegative(value: JsonValue): boolean {
  return typeof value === "number" && value < 0;
}

/** Twice the longest that was seen, and never so little that the next value is refused for its length alone. */
function roomFor(texts: readonly string[]): number {
  const longest = Math.max(...texts.map((text) => text.length));
  return 2 ** Math.ceil(Math.log2(Math.max(64, longest * 2)));
}

/**
 * Text fields (form, query, path parameters) become the same typed values that a JSON body would carry, by the schema
 * alone. Each type has one spelling; text that is not it stays text, and the schema check then says what is wrong.
 */
import { Fault } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import type { Pairs } from "./pairs.ts";
import type { JsonSchema } from "./schema.ts";

export interface FieldPlan {
  readonly lists: ReadonlySet<string>;
  convert(pairs: Pairs): JsonObject;
}

type Read = (text: string) => JsonValue;

export function planFields(schema: JsonSchema): FieldPlan {
  if (schema.type !== "object" || (schema.additionalProperties ?? false) !== false) {
    throw new Fault("fields need a schema of type object without additionalProperties");
  }
  const lists = new Set<string>();
  const readers = new Map<string, Read>();
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (field.type === "array") lists.add(name);
    readers.set(name, readerOf(name, field.type === "array" ? (field.items ?? {}) : field));
  }
  return {
    lists,
    convert(pairs) {
      const fields: Record<string, JsonValue> = Object.create(null);
      for (const [name, texts] of pairs) {
        const read = readers.get(name) ?? readText;
        fields[name] = lists.has(name) ? texts.map(read) : read(texts[0] ?? "");
      }
      return fields;
    },
  };
}

function readerOf(name: string, field: JsonSchema): Read {
  switch (field.type) {
    case "integer":
      return readInteger;
    case "boolean":
      return (text) => (text === "true" ? true : text === "false" ? false : text);
    case "string":
      return readText;
    case undefined:
      if ([...(field.enum ?? []), field.const ?? ""].every((item) => typeof item === "string")) return readText;
  }
  throw new Fault(`field ${name}: text fields are string, integer, boolean, a list of those, or an enum of strings`);
}

function readText(text: string): JsonValue {
  return text;
}

function readInteger(text: string): JsonValue {
  if (!/^(?:0|-?[1-9][0-9]{0,15})$/.test(text)) return text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

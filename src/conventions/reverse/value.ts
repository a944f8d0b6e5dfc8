import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { InputField } from "../action/pack.ts";

const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/;

/** The typed value that this text would be written for; undefined where the schema has none. */
export function readText(field: InputField, texts: readonly string[]): JsonValue | undefined {
  if (field.list === null) return texts.length === 1 ? readScalar(field.schema, texts[0] ?? "") : undefined;
  const items = field.list === "comma" ? (texts[0] ?? "").split(",") : texts;
  const values = items.map((text) => readScalar(field.schema.items ?? {}, text));
  return values.every((value) => value !== undefined) ? values : undefined;
}

/** The first reading that the schema allows. Writing it again must give the text: the comparison afterwards sees to that. */
function readScalar(schema: JsonSchema, text: string): string | number | boolean | undefined {
  const listed = schema.const === undefined ? schema.enum : [schema.const];
  if (listed !== undefined) return listed.find((one) => one !== null && String(one) === text) ?? undefined;
  if (schema.anyOf !== undefined) {
    for (const branch of schema.anyOf) {
      const value = readScalar(branch, text);
      if (value !== undefined) return value;
    }
    return undefined;
  }
  const types = schema.type === undefined ? ["string"] : [schema.type].flat();
  if (types.includes("integer") && INTEGER.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  if (types.includes("number") && text !== "" && String(Number(text)) === text) return Number(text);
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return types.includes("string") ? text : undefined;
}

import type { JsonSchema, JsonType } from "./schema.ts";

/**
 * Schemas of what we write ourselves, in few words: their types are read off them, and whoever reads such a record takes exactly
 * this. An object has these members and no others.
 */
export const text = { type: "string" } as const;
export const textOrNull = { type: ["string", "null"] } as const;
export const flag = { type: "boolean" } as const;
export const whole = { type: "integer" } as const;
export const wholeOrNull = { type: ["integer", "null"] } as const;
export const count = { type: "integer", minimum: 0 } as const;
export const anyObject = { type: "object", additionalProperties: true } as const;
/** What somebody else wrote, passed on. */
export const anyValue = {
  type: ["object", "array", "string", "number", "boolean", "null"],
  additionalProperties: true,
} as const;

type Members = Readonly<Record<string, JsonSchema>>;

export function object<const Required extends Members, const Optional extends Members = Record<never, never>>(
  required: Required,
  optional: Optional = {} as Optional,
) {
  const names = Object.keys(required) as readonly string[] as readonly (keyof Required & string)[];
  return { type: "object", properties: { ...required, ...optional }, required: names } as const;
}

export function list<const Item extends JsonSchema>(items: Item) {
  return { type: "array", items } as const;
}

export function orNull<const Schema extends JsonSchema & { readonly type: JsonType }>(schema: Schema) {
  const type = [schema.type, "null"] as readonly [Schema["type"], "null"];
  return { ...schema, type };
}

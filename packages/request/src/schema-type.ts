import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import type { JsonSchema } from "./schema.ts";

/** The static type of what a schema admits, read off the schema itself, so that a handler's type cannot drift from it. */
export type FromSchema<Schema> = Schema extends { readonly const: infer Only }
  ? Only
  : Schema extends { readonly enum: readonly (infer Each)[] }
    ? Each
    : Schema extends { readonly anyOf: readonly (infer Branch)[] }
      ? FromSchema<Branch>
      : Schema extends { readonly type: infer Type }
        ? FromType<Schema, Type extends readonly (infer Each)[] ? Each : Type>
        : JsonValue;

type FromType<Schema, Type> = Type extends "string"
  ? string
  : Type extends "integer" | "number"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? FromArray<Schema>
          : Type extends "object"
            ? FromObject<Schema>
            : never;

type FromArray<Schema> = Schema extends { readonly items: infer Item }
  ? readonly FromSchema<Item>[]
  : readonly JsonValue[];

type FromObject<Schema> = Schema extends { readonly properties: infer Members }
  ? {
      readonly [Name in keyof Members as Name extends RequiredOf<Schema> ? Name : never]: FromSchema<Members[Name]>;
    } & {
      readonly [Name in keyof Members as Name extends RequiredOf<Schema> ? never : Name]?: FromSchema<Members[Name]>;
    }
  : Schema extends { readonly additionalProperties: infer Other extends JsonSchema }
    ? { readonly [name: string]: FromSchema<Other> }
    : JsonObject;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never;

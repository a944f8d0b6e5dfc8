import type { JsonSchema } from "../../../../packages/request/src/schema.ts";

const count = { type: "integer", minimum: 0 } as const satisfies JsonSchema;
const scalar = { type: ["string", "number", "boolean", "null"] } as const satisfies JsonSchema;
const anyObject = { type: "object", additionalProperties: true } as const satisfies JsonSchema;
const typeName = {
  enum: ["string", "integer", "number", "boolean", "object", "array", "null"],
} as const satisfies JsonSchema;

/** What an input says about itself beside its JSON Schema. */
export const fieldMembers = {
  in: { enum: ["path", "query", "header", "body"], description: "Where the value goes. Not for SSH." },
  as: { type: "string", minLength: 1, maxLength: 128, description: "Its name there, when that differs." },
  whole: { type: "boolean", description: "Its value is the whole JSON body: a bare text, number or list." },
  optional: { type: "boolean", description: "May be left out." },
  percent: { enum: ["literal"], description: "A percent escape in the value is text and is encoded once more." },
  style: { enum: ["repeat", "comma"], description: "How a list is written in a query or form." },
  opaque: { type: "boolean", description: "Shown to a person by size and digest only." },
  sensitive: { type: "boolean", description: "Private: cards and the log have its size and digest, never the value." },
  language: {
    enum: ["graphql"],
    description: "A const that is a GraphQL document: blanks, commas and comments mean nothing in it.",
  },
  part: { enum: ["field", "json", "file"], description: "What a multipart part holds. A file is sent as base64 text." },
  filename: { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$", description: "The file name of a file part." },
  media_type: {
    type: "string",
    pattern: "^[a-z0-9.+-]{1,64}/[a-z0-9.+-]{1,64}$",
    description: "The media type of a file part.",
  },
} as const satisfies { readonly [name: string]: JsonSchema };

/** The supported keywords of JSON Schema; nested schemas are held against the same subset when the pack is read. */
const keywords = {
  type: { anyOf: [typeName, { type: "array", minItems: 1, items: typeName }] },
  enum: { type: "array", minItems: 1, items: scalar },
  const: scalar,
  minLength: count,
  maxLength: count,
  pattern: { type: "string" },
  format: { enum: ["date", "date-time", "uuid"] },
  minimum: { type: "number" },
  maximum: { type: "number" },
  items: anyObject,
  minItems: count,
  maxItems: count,
  uniqueItems: { type: "boolean" },
  properties: { type: "object", additionalProperties: anyObject },
  required: { type: "array", items: { type: "string" } },
  additionalProperties: { anyOf: [{ type: "boolean" }, anyObject] },
  maxProperties: count,
  anyOf: { type: "array", minItems: 1, items: anyObject },
  title: { type: "string" },
  description: { type: "string" },
  examples: { type: "array" },
} as const satisfies { readonly [name: string]: JsonSchema };

export const inputSchema = {
  type: "object",
  maxProperties: 64,
  description: "What the agent supplies: one JSON Schema a line. Required unless `optional: true` or `const`.",
  additionalProperties: {
    type: "object",
    additionalProperties: false,
    properties: { ...fieldMembers, ...keywords },
  },
} as const satisfies JsonSchema;

import type { JsonSchema } from "../../../packages/request/src/schema.ts";

/** Shapes that several routes of this plane take. */
export const short = { type: "string", minLength: 1, maxLength: 200 } as const;

export const textOrNull = { type: ["string", "null"], maxLength: 2000 } as const;

export function signedSchema<const Statement extends JsonSchema>(statement: Statement) {
  return {
    type: "object",
    properties: { statement, signature: { type: "string", minLength: 1, maxLength: 200 } },
    required: ["statement", "signature"],
  } as const;
}

import type { JsonSchema } from "../../../packages/request/src/schema.ts";

/** What agents and operators say alike when they ask something of an operation. */
export const operationParams = {
  type: "object",
  properties: { operation_id: { type: "string", maxLength: 64 } },
  required: ["operation_id"],
} as const satisfies JsonSchema;

export const reasonSchema = {
  type: "object",
  properties: { reason: { type: "string", minLength: 1, maxLength: 500 } },
  required: ["reason"],
} as const satisfies JsonSchema;

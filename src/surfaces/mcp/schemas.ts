import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject } from "../../kernel/json.ts";

/** Our schemas refuse members they do not name; a reader of plain JSON Schema has to be told. */
export function closeSchema(schema: JsonSchema): JsonObject {
  const { properties, items, additionalProperties, anyOf, ...rest } = schema;
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const isObject = types.includes("object") || properties !== undefined;
  return {
    ...(rest as unknown as JsonObject),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, closeSchema(one)])) }),
    ...(items === undefined ? {} : { items: closeSchema(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(closeSchema) }),
    ...(isObject
      ? {
          additionalProperties:
            typeof additionalProperties === "object"
              ? closeSchema(additionalProperties)
              : additionalProperties === true,
        }
      : {}),
  };
}

const text = { type: "string" } as const;
/** One type a branch: clients that map schemas onto a smaller dialect stumble over lists of types. */
const orNull = <const Schema extends object>(schema: Schema) => ({ anyOf: [schema, { type: "null" }] }) as const;
const maybeText = orNull(text);

/**
 * Every answer of an action: done, pending or denied, told by `state`. One flat object, because clients check whatever
 * structured content comes, a refusal too, against the one schema that the tool declares.
 */
export const outcomeSchema = {
  type: "object",
  properties: {
    state: { type: "string", enum: ["done", "pending", "denied"] },
    call_id: text,
    run_id: maybeText,
    action: text,
    outcome: { type: "string", enum: ["success", "error", "unknown"] },
    confirmed: { type: "boolean" },
    operation_id: maybeText,
    correlation_id: text,
    transport_observation: { type: "object" },
    retry_allowed: { type: "boolean" },
    reconcile: orNull({ type: "object", properties: { method: text, path: text } }),
    guidance: maybeText,
    response: orNull({ type: "object" }),
    plan: { type: "object" },
    approval_id: maybeText,
    waits_for: { type: "string", enum: ["person", "provider"] },
    paused: { type: "object", properties: { until: text, after: text } },
    next: text,
    code: text,
    message: text,
    mend: text,
    errors: { type: "array", items: { type: "object" } },
  },
  required: ["state"],
} as const;

export const budgetSchema = {
  type: "object",
  properties: { state: { type: "string", enum: ["none", "pending", "open", "ended", "denied"] } },
  required: ["state"],
} as const;

export const accessSchema = {
  type: "object",
  properties: {
    state: { type: "string", enum: ["granted", "pending", "denied"] },
    approval_id: maybeText,
    granted: { type: "array", items: text },
    noted: { type: "array", items: text },
    next: text,
    code: text,
    message: text,
    mend: text,
  },
  required: ["state"],
} as const;

/** What `gw_wait` gives is what the waited-for tool would have given. */
export const waitedSchema = { type: "object", properties: { state: text }, required: ["state"] } as const;

export const waitInput = {
  type: "object",
  properties: {
    id: {
      type: "string",
      maxLength: 64,
      description: "The call_id, approval_id or operation_id of an earlier result.",
    },
  },
  required: ["id"],
} as const satisfies JsonSchema;

export const accessInput = {
  type: "object",
  properties: {
    actions: {
      type: "array",
      items: { type: "string", pattern: "^[a-z][a-z0-9-]{0,31}[.][a-z0-9_.]{1,128}$" },
      maxItems: 20,
      description: "Names as PACK.ACTION.",
    },
    credentials: {
      type: "array",
      items: { type: "string", pattern: "^[a-z0-9][a-z0-9._-]{0,63}$" },
      maxItems: 5,
      description: "Labels of credentials; a secret is never shown.",
    },
    reason: { type: "string", minLength: 1, maxLength: 500, description: "Shown to the person as your words." },
  },
  required: ["reason"],
} as const satisfies JsonSchema;

const operationId = { type: "string", maxLength: 64, description: "As an earlier result names it." } as const;

export const reconcileInput = {
  type: "object",
  properties: { operation_id: operationId },
  required: ["operation_id"],
} as const satisfies JsonSchema;

/** A second call although the same one is open: a person sees both. */
export const repeatInput = {
  type: "object",
  properties: {
    repeat_of: {
      type: "string",
      minLength: 3,
      maxLength: 64,
      description: "The open operation, as the refusal names it.",
    },
    action: { type: "string", minLength: 3, maxLength: 130, description: "PACK.ACTION, as before." },
    input: { type: "object", additionalProperties: true, description: "The arguments, as before." },
  },
  required: ["repeat_of", "action", "input"],
} as const satisfies JsonSchema;

/** Of the tools that ask a provider to stop work or to go on with it. */
export const reasonedInput = {
  type: "object",
  properties: {
    operation_id: operationId,
    reason: { type: "string", minLength: 1, maxLength: 500, description: "Recorded as your words." },
  },
  required: ["operation_id", "reason"],
} as const satisfies JsonSchema;

/** Of every tool whose action carries out a plan, in place of the action's own arguments. */
export const executionInput = {
  type: "object",
  properties: {
    plan_id: { type: "string", maxLength: 64, description: "Of the plan in the preview's result." },
    expected_revision: { type: "string", minLength: 1, maxLength: 256, description: "As that plan names it." },
  },
  required: ["plan_id", "expected_revision"],
} as const satisfies JsonSchema;

export const noInput = { type: "object", properties: {} } as const satisfies JsonSchema;

export const WAIT_SECONDS = defaults.mcpWaitMs / 1000;

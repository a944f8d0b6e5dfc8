import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import {
  anyObject,
  count,
  flag,
  list,
  object,
  orNull,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from "../../../packages/request/src/shape.ts";
import { budgetSchema } from "../../conventions/budget/record.ts";
import { operationSchema } from "../../conventions/operation/summary.ts";
import { resultSchema } from "../../conventions/outcome/result.ts";
import { scopeSchema } from "../../conventions/scope/scope.ts";

/** What the routes of this plane answer: the routes publish these, and our own clients read by them. */
const actionAnswer = object(
  {
    action: text,
    pack: text,
    origin: textOrNull,
    description: textOrNull,
    effect: text,
    input: anyObject,
    needs: anyObject,
    max_cost_cents: wholeOrNull,
  },
  { token_variables: list(text) },
);
export const actionsAnswer = list(actionAnswer);

export const runAnswer = object(
  {
    run_id: text,
    state: { enum: ["pending", "open", "ended"] },
    purpose: text,
    created_at: text,
    end_reason: textOrNull,
    session_id: textOrNull,
    approval_id: textOrNull,
    scope: orNull(scopeSchema),
    budget: budgetSchema,
    descendants: flag,
    calls: object({
      started: count,
      success: count,
      error: count,
      denied: count,
      unknown: count,
      unknown_calls: list(text),
    }),
  },
  {
    contained: { const: true },
    proxied: { const: true },
    /** What tools send where a credential would stand. */
    placeholder: text,
    /** While it waits for a person: where to ask again. */
    status_path: text,
  },
);

/** A call that still waits for a person or for the provider. */
export const pendingAnswer = object(
  {
    call_id: text,
    run_id: text,
    action: text,
    state: { enum: ["pending", "sending"] },
    created_at: text,
    approval_id: textOrNull,
    status_path: text,
  },
  {
    waits_for: { enum: ["person", "provider"] },
    /** While it waits to be sent again: until when, and after what. */
    paused: object({ until: text, after: text }),
  },
);
export const callAnswers = {
  200: { description: "The result; an unknown outcome is one too", schema: resultSchema },
  202: { description: "Still pending", schema: pendingAnswer },
} as const;
export const callAnswer = { anyOf: [resultSchema, pendingAnswer] } as const;

export const operationAnswer = operationSchema;

const outcome = { enum: ["success", "error", "unknown", "refused", "streaming"] } as const;

/** What a tool in a box is told, word for word. */
export const carriedAnswer = object({
  call_id: textOrNull,
  outcome,
  status: whole,
  reason: text,
  headers: list({ type: "array", minItems: 2, maxItems: 2, items: text }),
  /** Base64. */
  body: text,
});
/** What follows where the answer is passed on as it comes: its bytes, and as the last line how it ended. */
export const pieceAnswer = {
  anyOf: [object({ data: text }), object({ end: object({ outcome, broken: textOrNull }) })],
} as const;

export type ActionView = FromSchema<typeof actionAnswer>;
export type RunView = FromSchema<typeof runAnswer>;
export type PendingView = FromSchema<typeof pendingAnswer>;
export type CarriedView = FromSchema<typeof carriedAnswer>;

import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { GivenDecision } from "../../conventions/approval/decision.ts";
import type { Condition } from "../../conventions/grant/condition.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { approvalAnswer, approvalsAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn, mayRead } from "./permit.ts";
import { approvalRecord } from "./records.ts";
import { short, signedSchema, textOrNull } from "./schemas.ts";
import type { Steward } from "./steward.ts";

/** The questions that wait for a person. A decision carries its own signature over exactly the card it is about. */
export function approvalRoutes({ gateway, clock }: Steward): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "GET", path: "/v1/approvals", body: { kind: "none" } },
      {
        summary: "The questions that wait for a person",
        answers: { 200: { description: "A list", schema: approvalsAnswer } },
      },
      () => ({ status: 200, body: gateway.desk.list().map((approval) => approvalRecord(approval, clock.bootMs())) }),
      mayRead,
    ),
    planeRoute(
      { method: "GET", path: "/v1/approvals/{approval_id}", params: approvalParams, body: { kind: "none" } },
      {
        summary: "One question with its card",
        answers: { 200: { description: "The approval", schema: approvalAnswer } },
      },
      ({ params }) => {
        const found = gateway.desk.find(params.approval_id);
        if (found === undefined)
          throw new Denied("not_found", "There is no such approval. Those that wait: gw approvals");
        return { status: 200, body: approvalRecord(found, clock.bootMs()) };
      },
      mayRead,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/approvals/{approval_id}/decision",
        params: approvalParams,
        body: { kind: "json", schema: givenSchema },
      },
      {
        summary: "A signed decision about exactly this card",
        answers: { 200: { description: "The decided approval", schema: approvalAnswer } },
      },
      async ({ params, body }) => {
        const signed = body as never as GivenDecision;
        if (signed.statement.approval_id !== params.approval_id) {
          throw new Denied("card_mismatch", "The statement names another approval than the path.");
        }
        const decided = await gateway.desk.decide(signed);
        return { status: 200, body: approvalRecord(decided, clock.bootMs()) };
      },
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/approvals/{approval_id}/extend",
        params: approvalParams,
        body: { kind: "json", schema: extendSchema },
      },
      {
        summary: "More time for a question",
        answers: { 200: { description: "The approval", schema: approvalAnswer } },
      },
      async ({ params, body }) => {
        const extended = await gateway.desk.extend(params.approval_id, body.seconds * 1000);
        return { status: 200, body: approvalRecord(extended, clock.bootMs()) };
      },
      loggedIn,
    ),
  ];
}

const head = {
  type: "object",
  properties: { frame: short, link: { type: "string", pattern: "^[0-9a-f]{64}$" } },
  required: ["frame", "link"],
} as const;

const budget = {
  type: ["object", "null"],
  properties: {
    attempts: { type: "integer", minimum: 0 },
    side_effects: { type: "integer", minimum: 0 },
    duration_seconds: { type: "integer", minimum: 0 },
    spend_cents: { type: "integer", minimum: 0 },
  },
  required: ["attempts", "side_effects", "duration_seconds", "spend_cents"],
} as const;

/** As a grant's conditions are, each with the action that it bounds. */
const bounds = { action: short, input: { type: "string", minLength: 1, maxLength: 128 } } as const;
const CONDITIONS = [
  conditionSchema("one_of", "values", {
    type: "array",
    items: { type: ["string", "integer", "boolean"], maxLength: 1_000 },
    minItems: 1,
    maxItems: 256,
  }),
  conditionSchema("prefix", "prefix", { type: "string", minLength: 1, maxLength: 1_000 }),
  conditionSchema("at_most", "maximum", { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
] as const satisfies readonly JsonSchema[];

function conditionSchema(kind: Condition["kind"], name: string, value: JsonSchema) {
  return {
    type: "object",
    properties: { ...bounds, kind: { const: kind }, [name]: value },
    required: ["action", "input", "kind", name],
  } as const;
}

const decisionSchema = {
  type: "object",
  properties: {
    format: { const: "gw.decision/v1" },
    vault_id: short,
    approval_id: short,
    card_digest: short,
    decision: { enum: ["approve", "deny"] },
    reason: textOrNull,
    narrow: {
      type: ["object", "null"],
      properties: {
        actions: { type: ["array", "null"], items: short, maxItems: 200 },
        request_bytes: { type: ["integer", "null"], minimum: 0 },
        budget,
        where: { type: "array", items: { anyOf: CONDITIONS }, minItems: 1, maxItems: 64 },
      },
      required: ["actions", "request_bytes", "budget"],
    },
    operator: short,
    operator_key_id: short,
    decided_at: short,
    log_head: head,
    knows: {
      type: "object",
      properties: { vault: { type: "integer", minimum: 0 }, policy: { type: "integer", minimum: 0 } },
      required: ["vault", "policy"],
    },
    // Only with an approval: the work context that the operator assigned, as they signed it.
    ticket_context: { type: "string", minLength: 1, maxLength: defaults.ticketContextCharacters },
  },
  required: [
    "format",
    "vault_id",
    "approval_id",
    "card_digest",
    "decision",
    "reason",
    "narrow",
    "operator",
    "operator_key_id",
    "decided_at",
    "log_head",
  ],
} as const satisfies JsonSchema;

const encoded = { type: "string", minLength: 1, maxLength: 8_192 } as const;

/** With a passkey's answer, where one was asked for. */
export const givenSchema = {
  ...signedSchema(decisionSchema),
  properties: {
    ...signedSchema(decisionSchema).properties,
    assertion: {
      type: "object",
      properties: {
        credential_id: encoded,
        authenticator_data: encoded,
        client_data: encoded,
        signature: encoded,
      },
      required: ["credential_id", "authenticator_data", "client_data", "signature"],
    },
  },
} as const satisfies JsonSchema;

const seconds = { type: "integer", minimum: 1, maximum: 3600 } as const;

const extendSchema = {
  type: "object",
  properties: { seconds },
  required: ["seconds"],
} as const satisfies JsonSchema;

/** Taken on a hub alone: on this plane a login asks the same. */
export const extensionSchema = {
  type: "object",
  properties: {
    format: { const: "gw.extension/v1" },
    vault_id: short,
    approval_id: short,
    card_digest: short,
    seconds,
    operator: short,
    operator_key_id: short,
    decided_at: short,
  },
  required: [
    ...["format", "vault_id", "approval_id", "card_digest"],
    ...["seconds", "operator", "operator_key_id", "decided_at"],
  ],
} as const satisfies JsonSchema;

const approvalParams = {
  type: "object",
  properties: { approval_id: { type: "string", maxLength: 64 } },
  required: ["approval_id"],
} as const satisfies JsonSchema;

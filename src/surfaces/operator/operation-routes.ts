import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { SettlementStatement } from "../../conventions/approval/decision.ts";
import { errandSummary, jobErrandNames, operationErrands } from "../../conventions/operation/errand.ts";
import { Denied } from "../../kernel/failure.ts";
import { readId } from "../../kernel/ids.ts";
import { operationParams, reasonSchema } from "../plane/operation-schemas.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { adoptionAnswer, operationAnswer, operationsAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import type { OperationRecords } from "./operation-records.ts";
import { loggedIn, mayRead } from "./permit.ts";
import { short, signedSchema } from "./schemas.ts";
import type { Steward } from "./steward.ts";

/** Operations of every caller. A person may read once more where automation has stopped, and ask the provider to stop. */
export function operationRoutes(
  { gateway, adoptOperations }: Pick<Steward, "gateway" | "adoptOperations">,
  records: OperationRecords,
): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "POST", path: "/v1/custody/adoptions", body: { kind: "json", schema: adoptionSchema } },
      {
        summary: "Take over what a silent gateway of the hub had under way",
        answers: { 200: { description: "How much is looked after here now", schema: adoptionAnswer } },
      },
      async ({ body }, context) => ({
        status: 200,
        body: { ...(await adoptOperations(body.gateway, context.login())) },
      }),
      loggedIn,
    ),
    planeRoute(
      { method: "GET", path: "/v1/custody/operations", body: { kind: "none" } },
      {
        summary: "All operations that are open or ended lately",
        answers: { 200: { description: "A list", schema: operationsAnswer } },
      },
      () => ({ status: 200, body: records.list() }),
      mayRead,
    ),
    planeRoute(
      { method: "GET", path: "/v1/custody/operations/{operation_id}", params: operationParams, body: { kind: "none" } },
      {
        summary: "One operation with its history",
        answers: { 200: { description: "The operation", schema: operationAnswer } },
      },
      ({ params }) => ({
        status: 200,
        body: records.detail(gateway.operations.get(readId("op", params.operation_id))),
      }),
      mayRead,
    ),
    ...jobErrandNames.map((errand) =>
      planeRoute(
        {
          method: "POST",
          path: `/v1/custody/operations/{operation_id}/${errand}`,
          params: operationParams,
          body: { kind: "json", schema: reasonSchema },
        },
        {
          summary: errandSummary(errand),
          answers: { 200: { description: "The operation after the request", schema: operationAnswer } },
        },
        async ({ params, body }, context) => {
          const { operator } = context.login();
          const id = readId("op", params.operation_id);
          return { status: 200, body: records.detail(await gateway.operations[errand](id, operator, body.reason)) };
        },
        loggedIn,
      ),
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/custody/operations/{operation_id}/settle",
        params: operationParams,
        body: { kind: "json", schema: signedSchema(settlementSchema) },
      },
      {
        summary: "A signed word on what became of it, where nothing else can tell",
        answers: { 200: { description: "The operation, settled", schema: operationAnswer } },
      },
      async ({ params, body }) => {
        const signed = body as never as { statement: SettlementStatement; signature: string };
        if (signed.statement.operation_id !== params.operation_id) {
          throw new Denied("card_mismatch", "The statement names another operation than the path.");
        }
        return { status: 200, body: records.detail(await gateway.settle(signed)) };
      },
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/custody/operations/{operation_id}/reconcile",
        params: operationParams,
        body: { kind: "none" },
      },
      {
        summary: "Read it now, once more if need be",
        answers: { 200: { description: "The operation after the read", schema: operationAnswer } },
      },
      async ({ params }, context) => {
        const { operator } = context.login();
        const operation = await gateway.operations.reconcile(readId("op", params.operation_id), operator);
        return { status: 200, body: records.detail(operation) };
      },
      loggedIn,
    ),
  ];
}

const adoptionSchema = {
  type: "object",
  properties: { gateway: { type: "string", minLength: 1, maxLength: 63 } },
  required: ["gateway"],
} as const satisfies JsonSchema;

export const settlementSchema = {
  type: "object",
  properties: {
    format: { const: "gw.settlement/v1" },
    vault_id: short,
    operation_id: short,
    request_fingerprint: short,
    happened: { type: "boolean" },
    reason: { type: "string", minLength: 1, maxLength: 500 },
    although: { type: ["string", "null"], minLength: 1, maxLength: 500 },
    operator: short,
    operator_key_id: short,
    decided_at: short,
  },
  required: [
    "format",
    "vault_id",
    "operation_id",
    "request_fingerprint",
    "happened",
    "reason",
    "although",
    "operator",
    "operator_key_id",
    "decided_at",
  ],
} as const satisfies JsonSchema;

/** Taken on a hub alone: on this plane a login asks the same. */
export const errandSchema = {
  type: "object",
  properties: {
    format: { const: "gw.errand/v1" },
    vault_id: short,
    gateway: short,
    operation_id: short,
    request_fingerprint: short,
    errand: { enum: operationErrands },
    reason: { type: "string", maxLength: 500 },
    nonce: short,
    operator: short,
    operator_key_id: short,
    decided_at: short,
  },
  required: [
    ...["format", "vault_id", "gateway", "operation_id", "request_fingerprint", "errand"],
    ...["reason", "nonce", "operator", "operator_key_id", "decided_at"],
  ],
} as const satisfies JsonSchema;

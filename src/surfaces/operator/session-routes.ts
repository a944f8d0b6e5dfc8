import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { RevocationStatement } from "../../conventions/approval/decision.ts";
import { Denied } from "../../kernel/failure.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { sessionsAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { mayRead, signed as signedOrder } from "./permit.ts";
import { sessionRecord } from "./records.ts";
import { short, signedSchema, textOrNull } from "./schemas.ts";
import type { Steward } from "./steward.ts";

/** The sessions of this process, and the signed order that ends one. */
export function sessionRoutes({ gateway }: Steward): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "GET", path: "/v1/sessions", body: { kind: "none" } },
      { summary: "The sessions of this process", answers: { 200: { description: "A list", schema: sessionsAnswer } } },
      () => ({ status: 200, body: gateway.sessions().map((one) => sessionRecord(one, gateway.runOf(one))) }),
      mayRead,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/sessions/{session_id}/revoke",
        params: sessionParams,
        body: { kind: "json", schema: revocationSchema },
      },
      { summary: "End a session now", answers: { 204: { description: "Ended" } } },
      async ({ params, body }) => {
        const signed = body as never as { statement: RevocationStatement; signature: string };
        if (signed.statement.session_id !== params.session_id) {
          throw new Denied("card_mismatch", "The statement names another session than the path.");
        }
        await gateway.revoke(signed);
        return { status: 204 };
      },
      signedOrder,
    ),
  ];
}

const statementSchema = {
  type: "object",
  properties: {
    format: { const: "gw.revocation/v1" },
    vault_id: short,
    session_id: short,
    reason: textOrNull,
    operator: short,
    operator_key_id: short,
    decided_at: short,
  },
  required: ["format", "vault_id", "session_id", "reason", "operator", "operator_key_id", "decided_at"],
} as const satisfies JsonSchema;

export const revocationSchema = signedSchema(statementSchema);

const sessionParams = {
  type: "object",
  properties: { session_id: { type: "string", maxLength: 64 } },
  required: ["session_id"],
} as const satisfies JsonSchema;

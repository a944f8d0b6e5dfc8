import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { TokenFacts } from "../../gateway/token/port.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { revokedAnswer, type TokenView, tokenFactsAnswer, usesAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn, mayRead } from "./permit.ts";

/** When credentials were used, and the tokens that some are exchanged for. No token is ever shown. */
export function credentialRoutes({ tokens }: Gateway): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "GET", path: "/v1/credentials/uses", body: { kind: "none" } },
      {
        summary: "When each credential was last used",
        answers: { 200: { description: "One row a credential", schema: usesAnswer } },
      },
      () => {
        const rows = tokens.uses().map(({ label, lastUsedAt, token }) => {
          return { label, last_used_at: lastUsedAt, token: token === null ? null : factsRecord(token) };
        });
        return { status: 200, body: rows };
      },
      mayRead,
    ),
    planeRoute(
      { method: "POST", path: "/v1/credentials/test", body: { kind: "json", schema: labelSchema } },
      {
        summary: "Get a token now",
        answers: { 200: { description: "What it is good for, and until when", schema: tokenFactsAnswer } },
      },
      async ({ body }, context) => {
        return { status: 200, body: factsRecord(await tokens.test(body.label, context.login().operator)) };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/credentials/revoke", body: { kind: "json", schema: labelSchema } },
      {
        summary: "Have the provider forget a refresh token",
        answers: { 200: { description: "Whether it did", schema: revokedAnswer } },
      },
      async ({ body }, context) => {
        return { status: 200, body: { revoked: await tokens.revoke(body.label, context.login().operator) } };
      },
      loggedIn,
    ),
  ];
}

function factsRecord({ obtainedAt, expiresAt, scopes, missing }: TokenFacts): TokenView {
  return { obtained_at: obtainedAt, expires_at: expiresAt, scopes, missing };
}

const labelSchema = {
  type: "object",
  properties: { label: { type: "string", minLength: 1, maxLength: 64 } },
  required: ["label"],
} as const satisfies JsonSchema;

import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { attestedAnswer, offerAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn } from "./permit.ts";
import type { Steward } from "./steward.ts";

/** What an operator's client signs to vouch for the log. */
export function logRoutes(steward: Steward): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "POST", path: "/v1/log/attestation/offer", body: { kind: "none" } },
      {
        summary: "What an operator signs to vouch for the log",
        answers: { 200: { description: "The offer", schema: offerAnswer } },
      },
      async () => ({ status: 200, body: await steward.offerAttestation() }),
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/log/attestation", body: { kind: "json", schema: attestationSchema } },
      {
        summary: "A signed attestation",
        answers: { 200: { description: "The head after it", schema: attestedAnswer } },
      },
      async ({ body }) => ({ status: 200, body: await steward.attest(Buffer.from(body.statement, "base64")) }),
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/log/archived", body: { kind: "json", schema: archivedSchema } },
      { summary: "Older segments are moved away", answers: { 204: { description: "Recorded" } } },
      async ({ body }, context) => {
        await steward.noteArchived(body.cut, context.login());
        return { status: 204 };
      },
      loggedIn,
    ),
  ];
}

const archivedSchema = {
  type: "object",
  properties: { cut: { type: "string", minLength: 1, maxLength: 65_536 } },
  required: ["cut"],
} as const satisfies JsonSchema;

const attestationSchema = {
  type: "object",
  properties: { statement: { type: "string", minLength: 1, maxLength: 8192 } },
  required: ["statement"],
} as const satisfies JsonSchema;

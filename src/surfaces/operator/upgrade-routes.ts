import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import type { SignedDecision } from "../../conventions/upgrade/decision/statement.ts";
import { verdicts } from "../../conventions/upgrade/decision/statement.ts";
import type { ProbeExchange } from "../../conventions/upgrade/probe/exchange.ts";
import { readOrigin } from "../../conventions/url/origin.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { RunId } from "../../kernel/ids.ts";
import { Secret } from "../../kernel/secret.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { exchangeAnswer, probeAnswer, suspendedAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn } from "./permit.ts";
import type { Steward } from "./steward.ts";

/** Reviews of a provider's upgrade: decisions go into the log, and probes leave through the gateway like every call. */
export function upgradeRoutes(steward: Steward): readonly PlaneRoute<OperatorContext>[] {
  const { probes } = steward.gateway;
  return [
    planeRoute(
      { method: "POST", path: "/v1/upgrade/decisions", body: { kind: "json", schema: decisionsSchema } },
      { summary: "Signed decisions about differences", answers: { 204: { description: "Durable in the log" } } },
      async ({ body }, context) => {
        await steward.recordDecisions(body.decisions as never as readonly SignedDecision[], context.login());
        return { status: 204 };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/upgrade/probes", body: { kind: "json", schema: openingSchema } },
      { summary: "Open a probe of two versions", answers: { 201: { description: "run_id", schema: probeAnswer } } },
      async ({ body }, context) => {
        const { operator, operatorKeyId } = context.login();
        for (const { base } of body.versions) readOrigin(URL.parse(base)?.origin ?? base);
        const run_id = await probes.open({
          api: body.api,
          versions: body.versions,
          credentials: body.credentials.map(({ token, ...rest }) => ({ ...rest, token: Secret.fromText(token) })),
          requests: body.requests,
          sideEffects: body.side_effects,
          operator,
          operatorKeyId,
        });
        return { status: 201, body: { run_id } };
      },
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/upgrade/probes/{run_id}/send",
        params: runParams,
        body: { kind: "json", schema: sendSchema },
      },
      {
        summary: "Send one request of the corpus",
        answers: { 200: { description: "What came of it", schema: exchangeAnswer } },
      },
      async ({ params, body }, context) => {
        const exchange = await probes.send(params.run_id as RunId, context.login().operatorKeyId, {
          caseId: body.case_id,
          method: body.method,
          url: body.url,
          headers: body.headers,
          body: body.body_json === null ? undefined : parseJsonValue(Buffer.from(body.body_json, "utf8")),
          credential: body.credential,
          sideEffect: body.side_effect,
        });
        return { status: 200, body: exchangeRecord(exchange) };
      },
      loggedIn,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/upgrade/probes/{run_id}/close",
        params: runParams,
        body: { kind: "json", schema: closeSchema },
      },
      { summary: "End a probe and forget its tokens", answers: { 204: { description: "Ended" } } },
      async ({ params, body }, context) => {
        await probes.close(params.run_id as RunId, context.login().operatorKeyId, body.result_digest);
        return { status: 204 };
      },
      loggedIn,
    ),
    planeRoute(
      { method: "POST", path: "/v1/credentials/suspend", body: { kind: "json", schema: suspendSchema } },
      {
        summary: "Stop lending credentials at once",
        answers: { 200: { description: "Which ones", schema: suspendedAnswer } },
      },
      async ({ body }, context) => {
        const suspended = await steward.suspendCredentials(body.labels, body.reason, context.login());
        return { status: 200, body: { suspended } };
      },
      loggedIn,
    ),
  ];
}

function exchangeRecord(exchange: ProbeExchange): FromSchema<typeof exchangeAnswer> {
  switch (exchange.kind) {
    case "answered": {
      const { kind, status, headers, body } = exchange;
      return { kind, status, headers: { ...headers }, body: Buffer.from(body).toString("base64") };
    }
    case "unanswered":
    case "not_sent":
      return { ...exchange };
  }
}

const short = { type: "string", minLength: 1, maxLength: 200 } as const;
const words = { type: "string", maxLength: 4000 } as const;

const decisionsSchema = {
  type: "object",
  properties: {
    decisions: {
      type: "array",
      minItems: 1,
      maxItems: 100,
      items: {
        type: "object",
        properties: {
          statement: {
            type: "object",
            properties: {
              format: { const: "gw.upgrade-decision/v1" },
              api: short,
              difference: short,
              verdict: { enum: verdicts },
              reason: words,
              narrowing: { type: ["string", "null"], maxLength: 4000 },
              operator: short,
              operator_key_id: short,
              decided_at: short,
            },
            required: [
              ...["format", "api", "difference", "verdict", "reason"],
              ...["narrowing", "operator", "operator_key_id", "decided_at"],
            ],
          },
          signature: short,
        },
        required: ["statement", "signature"],
      },
    },
  },
  required: ["decisions"],
} as const satisfies JsonSchema;

const openingSchema = {
  type: "object",
  properties: {
    api: short,
    versions: {
      type: "array",
      minItems: 1,
      maxItems: 2,
      items: {
        type: "object",
        properties: {
          base: { type: "string", minLength: 1, maxLength: 2000 },
          header: { type: ["object", "null"], properties: { name: short, value: short }, required: ["name", "value"] },
        },
        required: ["base", "header"],
      },
    },
    credentials: {
      type: "array",
      maxItems: 16,
      items: {
        type: "object",
        properties: {
          label: short,
          present: { enum: ["bearer", "basic", "header", "form"] },
          name: { type: ["string", "null"], maxLength: 64 },
          token: { type: "string", minLength: 1, maxLength: 16_384 },
        },
        required: ["label", "present", "name", "token"],
      },
    },
    requests: { type: "integer", minimum: 1, maximum: defaults.upgradeProbes * 4 },
    side_effects: { type: "integer", minimum: 0, maximum: defaults.upgradeProbeSideEffects * 2 },
  },
  required: ["api", "versions", "credentials", "requests", "side_effects"],
} as const satisfies JsonSchema;

const sendSchema = {
  type: "object",
  properties: {
    case_id: { type: "string", minLength: 1, maxLength: 400 },
    method: { enum: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] },
    url: { type: "string", minLength: 1, maxLength: 8000 },
    headers: { type: "object", additionalProperties: { type: "string", maxLength: 2000 }, maxProperties: 32 },
    body_json: { type: ["string", "null"], maxLength: 1_000_000 },
    credential: short,
    side_effect: { type: "boolean" },
  },
  required: ["case_id", "method", "url", "headers", "body_json", "credential", "side_effect"],
} as const satisfies JsonSchema;

const closeSchema = {
  type: "object",
  properties: { result_digest: { type: ["string", "null"], pattern: "^sha256:[0-9a-f]{64}$" } },
  required: ["result_digest"],
} as const satisfies JsonSchema;

const suspendSchema = {
  type: "object",
  properties: {
    labels: { type: "array", items: short, minItems: 1, maxItems: 16 },
    reason: { type: "string", minLength: 1, maxLength: 200 },
  },
  required: ["labels", "reason"],
} as const satisfies JsonSchema;

const runParams = {
  type: "object",
  properties: { run_id: { type: "string", maxLength: 64 } },
  required: ["run_id"],
} as const satisfies JsonSchema;

import type { JsonSchema } from "../../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../../packages/request/src/schema-type.ts";

const id = { type: "string", pattern: "^[a-z0-9][a-z0-9._-]{0,95}$" } as const satisfies JsonSchema;
const label = { type: "string", pattern: "^[a-z0-9][a-z0-9._-]{0,63}$" } as const satisfies JsonSchema;
const scalar = { type: ["string", "integer", "number", "boolean"] } as const satisfies JsonSchema;
const scalars = { type: "object", additionalProperties: scalar, maxProperties: 64 } as const satisfies JsonSchema;
const pointer = { type: "string", maxLength: 256 } as const satisfies JsonSchema;

const anyObject = { type: "object", additionalProperties: true } as const satisfies JsonSchema;

const request = {
  type: "object",
  required: ["method", "path"],
  properties: {
    method: { type: "string", enum: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] },
    path: { type: "string", minLength: 1, maxLength: 1_024 },
    with: scalars,
    query: scalars,
    headers: { type: "object", additionalProperties: { type: "string", maxLength: 1_024 }, maxProperties: 16 },
    body: { anyOf: [anyObject, { type: "array", items: { anyOf: [anyObject, scalar] } }] },
  },
} as const satisfies JsonSchema;

const expect = {
  anyOf: [
    { type: "object", required: ["denied"], properties: { denied: { type: "boolean", const: true } } },
    {
      type: "object",
      required: ["status"],
      properties: {
        status: { type: "array", items: { type: "integer", minimum: 100, maximum: 599 }, minItems: 1, maxItems: 10 },
      },
    },
  ],
} as const satisfies JsonSchema;

const probe = {
  type: "object",
  required: ["id", "request", "expect"],
  properties: {
    id,
    note: { type: "string", maxLength: 400 },
    request,
    credential: label,
    expect,
    side_effect: { type: "boolean" },
    new_route: { type: "boolean" },
    optional: {
      type: "array",
      maxItems: 32,
      items: {
        type: "object",
        required: ["in", "name", "explicit"],
        properties: {
          in: { type: "string", enum: ["query", "header", "body"] },
          name: { type: "string", minLength: 1, maxLength: 128 },
          empty: { type: "boolean" },
          explicit: { type: "array", items: scalar, minItems: 1, maxItems: 8 },
        },
      },
    },
    pages: {
      anyOf: [
        {
          type: "object",
          required: ["next", "param"],
          properties: { next: pointer, param: { type: "string", minLength: 1, maxLength: 128 } },
        },
        { type: "object", required: ["link"], properties: { link: { type: "boolean", const: true } } },
      ],
    },
    forbidden: {
      type: "object",
      additionalProperties: { type: "array", items: { type: "string", maxLength: 256 }, minItems: 1, maxItems: 8 },
      maxProperties: 8,
    },
    cases: { type: "boolean" },
    take: { type: "object", additionalProperties: pointer, maxProperties: 16 },
  },
} as const satisfies JsonSchema;

const trace = {
  type: "object",
  required: ["id", "steps"],
  properties: {
    id,
    steps: { type: "array", items: probe, minItems: 1, maxItems: 16 },
    nearby: { type: "array", items: probe, maxItems: 16 },
  },
} as const satisfies JsonSchema;

const refresh = {
  type: "object",
  required: ["id", "request", "credential", "grant"],
  properties: {
    id,
    request,
    credential: label,
    grant: {
      type: "object",
      required: ["scopes", "audience"],
      properties: {
        scopes: { type: "array", items: { type: "string", maxLength: 256 }, maxItems: 128 },
        audience: { type: "array", items: { type: "string", maxLength: 512 }, maxItems: 16 },
      },
    },
  },
} as const satisfies JsonSchema;

const reason = { type: "string", minLength: 1, maxLength: 400 } as const satisfies JsonSchema;

/** What an upgrade's authentication tests run beside the allowed request. */
export const refusedCases = ["expired", "wrong_audience", "missing_scope", "revoked"] as const;

const credential = {
  type: "object",
  required: ["env", "case"],
  properties: {
    /** The variable of `gw upgrade probe` that holds the test token. */
    env: { type: "string", pattern: "^[A-Z][A-Z0-9_]{0,63}$" },
    case: { type: "string", enum: ["valid", ...refusedCases] },
    /** The vault label that an authority increase disables. */
    vault: label,
    present: { type: "string", enum: ["bearer", "basic", "header", "form"] },
    name: { type: "string", pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$" },
  },
} as const satisfies JsonSchema;

export const corpusSchema = {
  type: "object",
  required: ["format", "api", "account", "credentials", "probes"],
  properties: {
    format: { type: "string", const: "gw.upgrade-corpus/v1" },
    api: { type: "string", minLength: 1, maxLength: 200 },
    account: {
      type: "object",
      required: ["allowed_project", "forbidden_project", "inactive_record", "other_tenant_record"],
      properties: {
        allowed_project: { type: "string", minLength: 1, maxLength: 256 },
        forbidden_project: { type: "string", minLength: 1, maxLength: 256 },
        inactive_record: { type: "string", minLength: 1, maxLength: 256 },
        other_tenant_record: { type: "string", minLength: 1, maxLength: 256 },
        more: {
          type: "object",
          additionalProperties: { type: "string", minLength: 1, maxLength: 256 },
          maxProperties: 256,
        },
      },
    },
    credentials: { type: "object", additionalProperties: credential, maxProperties: 16 },
    /** Cases that this provider cannot be asked, each with the reason; a reviewer decides each. */
    without: {
      type: "object",
      properties: { expired: reason, wrong_audience: reason, missing_scope: reason, revoked: reason },
    },
    probes: { type: "array", items: probe, maxItems: 500 },
    traces: { type: "array", items: trace, maxItems: 50 },
    refresh: { type: "array", items: refresh, maxItems: 20 },
  },
} as const satisfies JsonSchema;

export type Corpus = FromSchema<typeof corpusSchema>;
export type CorpusProbe = FromSchema<typeof probe>;
export type CorpusTrace = FromSchema<typeof trace>;
export type CorpusRequest = FromSchema<typeof request>;

import { Denied } from "../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../src/kernel/json.ts";
import { parseJsonValue } from "../../request/src/json/parse.ts";
import { compileSchema, type JsonSchema } from "../../request/src/schema.ts";

/** Where a provider has what the conventions speak of. A part that is absent has its checks skipped. */
export interface Profile {
  /** A protected JSON route whose valid request changes nothing (a preview), and one of its text members. */
  readonly json?: { readonly target: string; readonly body: JsonObject; readonly member: string };
  readonly no_body?: { readonly target: string };
  readonly upload?: { readonly target: string; readonly manifest: JsonObject };
  /** A route with one path segment, `{segment}`, and a value with awkward characters that exists. */
  readonly segment?: { readonly target: string; readonly value: string };
  readonly scalar?: { readonly target: string; readonly name: string; readonly value: string };
  readonly list?: {
    readonly target: string;
    readonly limit: string;
    readonly cursor: string;
    /** Another order or filter of the same list, as a query. */
    readonly other: string;
  };
  readonly plan?: {
    readonly target: string;
    /** `{revision}` stands for what `revision` reads. */
    readonly body: JsonObject;
    readonly revision: { readonly target: string; readonly member: string };
    readonly execute: string;
    /** Reads that a preview must leave as they were. */
    readonly reads: readonly string[];
  };
  /** A route under an idempotency token that starts a job, and a second payload for it. */
  readonly job?: {
    readonly target: string;
    readonly body: JsonObject;
    readonly other: JsonObject;
    readonly cancel: string;
    readonly unknown: string;
  };
  readonly rollback?: {
    readonly release: { readonly target: string; readonly body: JsonObject };
    readonly promote: string;
    readonly environment: string;
    readonly rollbacks: string;
  };
  /** Any read that needs a token. */
  readonly access?: { readonly target: string };
}

/** The reference provider's own. */
export const referenceProfile: Profile = {
  json: {
    target: "/v1/projects/atlas/memberships/plan",
    body: { subject_id: "ada", role: "viewer", if_match: "r1" },
    member: "subject_id",
  },
  no_body: { target: "/v1/sessions/revoke" },
  upload: { target: "/v1/artifacts", manifest: { name: "conformance" } },
  segment: { target: "/projects/{segment}/builds", value: "team a/b%2Fc?d#é+1" },
  scalar: { target: "/search", name: "q", value: "a" },
  list: { target: "/v1/projects", limit: "limit", cursor: "cursor", other: "sort=-name" },
  plan: {
    target: "/v1/projects/borealis/memberships/plan",
    body: { subject_id: "ada", role: "viewer", if_match: "{revision}" },
    revision: { target: "/v1/projects/borealis", member: "revision" },
    execute: "/memberships",
    reads: ["/v1/projects/borealis", "/v1/projects?limit=5", "/v1/events?limit=200"],
  },
  job: {
    target: "/v1/reports",
    body: { account: "conformance", range: { start: "2026-01-01", end: "2026-01-31" }, format: "csv" },
    other: { account: "conformance", range: { start: "2026-01-01", end: "2026-01-31" }, format: "json" },
    cancel: "/jobs/{job_id}",
    unknown: "/v1/jobs/job_conformance_none",
  },
  rollback: {
    release: {
      target: "/v1/releases",
      body: {
        operation_id: "{unique}",
        service: "{unique}",
        artifact: `sha256:${"c".repeat(64)}`,
        environment: "staging",
      },
    },
    promote: "/v1/deployments/promote",
    environment: "staging",
    rollbacks: "/v1/environments/staging/rollbacks",
  },
  access: { target: "/v1/projects?limit=1" },
};

const text: JsonSchema = { type: "string", minLength: 1, maxLength: 1_024 };
const object: JsonSchema = { type: "object", additionalProperties: true };

function part(properties: { readonly [name: string]: JsonSchema }): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties };
}

const schema: JsonSchema = {
  type: "object",
  properties: {
    json: part({ target: text, body: object, member: text }),
    no_body: part({ target: text }),
    upload: part({ target: text, manifest: object }),
    segment: part({ target: text, value: text }),
    scalar: part({ target: text, name: text, value: text }),
    list: part({ target: text, limit: text, cursor: text, other: text }),
    plan: part({
      target: text,
      body: object,
      revision: part({ target: text, member: text }),
      execute: text,
      reads: { type: "array", items: text, minItems: 1, maxItems: 16 },
    }),
    job: part({ target: text, body: object, other: object, cancel: text, unknown: text }),
    rollback: part({
      release: part({ target: text, body: object }),
      promote: text,
      environment: text,
      rollbacks: text,
    }),
    access: part({ target: text }),
  },
};

const check = compileSchema(schema);

/** Reads a provider's own profile: strict JSON, every member known. */
export function readProfile(bytes: Buffer): Profile {
  const value = parseJsonValue(bytes);
  const errors = check(value);
  const [first] = errors;
  if (first !== undefined)
    throw new Denied("schema_violation", `${first.path || "the profile"}: ${first.message}`, { errors });
  return value as unknown as Profile;
}

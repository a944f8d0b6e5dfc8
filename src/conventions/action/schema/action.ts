import type { JsonSchema } from "../../../../packages/request/src/schema.ts";
import { inputSchema } from "./input.ts";
import { labelSchema, limitsSchema, mediaRange, tokenScopesSchema } from "./provider.ts";

const method = { enum: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] } as const satisfies JsonSchema;
const body = {
  enum: ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"],
  description: "The one media type of the body. Without it there is no body.",
} as const satisfies JsonSchema;
const reference = {
  type: "string",
  minLength: 1,
  maxLength: 128,
  description: "An action of this pack.",
} as const satisfies JsonSchema;
const place = {
  type: "string",
  minLength: 1,
  maxLength: 256,
  description: "A member of the answer: its name, or a JSON Pointer.",
} as const satisfies JsonSchema;
const seconds = { type: "integer", minimum: 1, maximum: 2_592_000 } as const satisfies JsonSchema;
const states = {
  type: "array",
  minItems: 1,
  maxItems: 32,
  items: { type: "string", minLength: 1, maxLength: 64 },
} as const satisfies JsonSchema;
const slot = {
  type: "object",
  additionalProperties: false,
  required: ["in", "as"],
  properties: {
    in: {
      enum: ["path", "query", "header", "body", "field"],
      description: "field: of the receiver, for an SSH action.",
    },
    as: { type: "string", minLength: 1, maxLength: 128 },
  },
} as const satisfies JsonSchema;

const jobSchema = {
  type: "object",
  additionalProperties: false,
  required: ["id", "status", "succeeded", "failed"],
  description: "The action starts work that goes on at the provider.",
  properties: {
    id: place,
    state: place,
    status: reference,
    cancel: reference,
    result: reference,
    succeeded: states,
    failed: states,
    cancelled: states,
    resume: {
      ...reference,
      description: "The action by which the provider documents that failed work goes on; none where it documents none.",
    },
    create_deadline_s: seconds,
    result_deadline_s: seconds,
    poll: {
      type: "object",
      additionalProperties: false,
      properties: {
        first_s: { type: "integer", minimum: 1, maximum: 3600 },
        cap_s: { type: "integer", minimum: 1, maximum: 3600 },
        max_checks: { type: "integer", minimum: 1, maximum: 1000 },
      },
    },
  },
} as const satisfies JsonSchema;

const pagesSchema = {
  type: "object",
  additionalProperties: false,
  required: ["items", "cursor_param"],
  description: "The answer is one page of a list.",
  properties: {
    items: {
      ...place,
      minLength: 0,
      description: 'Where the answer holds the records; "" is the answer itself, a bare list.',
    },
    empty_if: {
      ...place,
      description:
        "The provider leaves items out of an empty page, and this member stays: a page by which it is known.",
    },
    cursor: { ...place, description: "Where the answer holds the next cursor." },
    link: { enum: ["next"], description: "The next cursor stands in the Link header instead." },
    link_path: {
      type: "string",
      maxLength: 256,
      pattern: "^/[A-Za-z0-9._~{}/-]{1,255}$",
      description: "Another path under which its links name the same list; a segment in braces is any one.",
    },
    cursor_param: { type: "string", minLength: 1, maxLength: 64 },
    size_param: { type: "string", minLength: 1, maxLength: 64 },
    page_size: { type: "integer", minimum: 1, maximum: 1000 },
    max_pages: { type: "integer", minimum: 1, maximum: 1000 },
    max_records: { type: "integer", minimum: 1, maximum: 100_000 },
  },
} as const satisfies JsonSchema;

const sshSchema = {
  type: "object",
  additionalProperties: false,
  required: ["host", "user", "host_key", "credential", "action"],
  description: "The action is an operation of the receiver on a host.",
  properties: {
    host: { type: "string", pattern: "^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$" },
    port: { type: "integer", minimum: 1, maximum: 65_535 },
    user: { type: "string", pattern: "^[a-z_][a-z0-9_-]{0,31}$" },
    host_key: {
      type: "string",
      maxLength: 4096,
      description: "The host's public key, as ssh-keyscan prints it after the host.",
    },
    credential: labelSchema,
    action: { type: "string", pattern: "^[a-z][a-z0-9_]{0,63}$" },
    recording: { enum: ["off", "on"] },
  },
} as const satisfies JsonSchema;

const fullUrlSchema = {
  type: "object",
  additionalProperties: false,
  required: ["method", "allow"],
  description: "The agent supplies a whole URL, which must lie under one entry of the list.",
  properties: {
    method,
    body,
    credential: labelSchema,
    allow: {
      type: "array",
      minItems: 1,
      maxItems: 32,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["origin", "prefix"],
        properties: {
          origin: { type: "string", maxLength: 300 },
          prefix: { type: "string", maxLength: 1024, description: "A path of whole segments." },
          query: { type: "boolean", description: "Whether the URL may carry a query." },
        },
      },
    },
  },
} as const satisfies JsonSchema;

export const actionSchema = {
  type: "object",
  additionalProperties: false,
  required: ["effect"],
  properties: {
    description: { type: "string", maxLength: 1000 },
    effect: { enum: ["preview", "read", "write", "send", "create", "purchase"] },
    retry: { enum: ["read", "idempotent_write", "non_idempotent_write"] },
    needs: {
      type: "object",
      additionalProperties: false,
      properties: { plan: reference, approval: { enum: ["session", "each_use"] }, ticket: { type: "boolean" } },
    },
    preview: {
      enum: ["none"],
      description: "The provider has no preview for it: every call then asks a person, and the card says why.",
    },
    request: {
      type: "object",
      additionalProperties: false,
      required: ["method", "path"],
      properties: {
        method,
        path: { type: "string", maxLength: 1024 },
        body: {
          enum: [...body.enum, "opaque", "git-receive-pack"],
          description: `${body.description} opaque: one input holds all of it. git-receive-pack: what git push sends.`,
        },
        media_type: { ...mediaRange, description: "The media type of an opaque body." },
        gzip: { type: "boolean", description: "A tool may send the body compressed; it is sent on plain." },
        empty_body: { type: "boolean", description: "Where no input goes into the body, none is sent at all." },
        accept: { ...mediaRange, description: "What the request asks for in Accept; application/json unless said." },
        tolerates: {
          type: "array",
          minItems: 1,
          maxItems: 32,
          items: { type: "string", minLength: 1, maxLength: 128 },
          description: "Query members that tools in a box add, and that are left out of what is sent.",
        },
      },
    },
    response: {
      enum: ["stream"],
      description: "A tool in a box gets the answer of this read as it comes: downloads, server-sent events.",
    },
    full_url: fullUrlSchema,
    ssh: sshSchema,
    input: inputSchema,
    plan: {
      type: "object",
      additionalProperties: false,
      required: ["id"],
      description: "Where the plan's identifier and expected revision go.",
      properties: { id: slot, revision: slot },
    },
    confirm: { ...reference, description: "The later read that makes a success confirmed." },
    max_cost_cents: {
      type: "integer",
      minimum: 0,
      maximum: 100_000_000,
      description: "The most that one call can cost.",
    },
    actual_cost: {
      type: "object",
      additionalProperties: false,
      required: ["unit"],
      description: "Where the answer says what the call cost: a member or a header.",
      properties: {
        member: place,
        header: { type: "string", pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$" },
        unit: {
          enum: ["cents", "decimal"],
          description: "cents: whole smallest units of the currency. decimal: an amount in its main unit.",
        },
        currency: { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217; USD unless said otherwise." },
        currency_member: { ...place, description: "Where the answer names its currency, which must then be ours." },
      },
    },
    job: jobSchema,
    unknown: {
      type: "object",
      additionalProperties: false,
      properties: {
        retry_allowed: { type: "boolean" },
        reconcile: {
          ...reference,
          description:
            "The read that finds out, or token_retry where the provider documents that the same token and payload return the original result.",
        },
      },
    },
    rollback: { type: "object", additionalProperties: false, required: ["of"], properties: { of: reference } },
    pages: pagesSchema,
    echo: { enum: ["withhold", "redact"], description: "What happens when an answer holds the credential." },
    mints: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      items: place,
      description: "Members that hold a new secret; they go to the vault.",
    },
    token: {
      type: "object",
      additionalProperties: false,
      description:
        "The least that a token for this action must be good for, where the credential is exchanged for one.",
      properties: {
        scopes: { ...tokenScopesSchema, description: "Instead of the provider's own." },
        repository: {
          type: "string",
          maxLength: 64,
          description: "The input that names the one repository it is for.",
        },
        resources: {
          type: "array",
          minItems: 1,
          maxItems: 8,
          items: { type: "string", pattern: "^arn:[!-~]{1,500}$" },
          description: "For a role at AWS: what it is for, inputs in braces, such as arn:aws:s3:::{bucket}/{key}.",
        },
      },
    },
    limits: limitsSchema,
  },
} as const satisfies JsonSchema;

import type { JsonSchema } from "../../../../packages/request/src/schema.ts";

export const labelSchema = {
  type: "string",
  pattern: "^[a-z0-9][a-z0-9._-]{0,63}$",
  description: "The label of a credential in the vault. The secret itself never stands in a pack.",
} as const satisfies JsonSchema;

const headerSchema = {
  type: "string",
  pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$",
  description: "The name of a header field.",
} as const satisfies JsonSchema;

export const tokenScopesSchema = {
  type: "array",
  minItems: 1,
  maxItems: 32,
  items: { type: "string", pattern: "^[!#-\\[\\]-~]{1,256}$" },
} as const satisfies JsonSchema;

export const mediaRange = {
  type: "string",
  pattern: "^([a-z0-9.+-]{1,127}|\\*)/([a-z0-9.+-]{1,127}|\\*)$",
} as const satisfies JsonSchema;

export const limitsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    timeout_s: {
      type: "integer",
      minimum: 1,
      maximum: 3600,
      description: "Seconds that one send may take. Above 600 only with response: stream.",
    },
    response_bytes: {
      type: "integer",
      minimum: 1024,
      maximum: 17_179_869_184,
      description: "The largest answer that is read. Above 67108864 only with response: stream.",
    },
  },
} as const satisfies JsonSchema;

const callbacksSchema = {
  type: "object",
  additionalProperties: false,
  required: ["verify", "credential", "job_id"],
  description:
    "How callbacks of this provider are verified, and which job one is about. A callback is a hint to read the state.",
  properties: {
    verify: {
      enum: ["standard_webhooks", "stripe", "hmac_sha256"],
      description:
        "The provider's contract: Standard Webhooks, Stripe-Signature, or HMAC-SHA256 of the body in a header.",
    },
    credential: { ...labelSchema, description: "The label of the secret in the vault: kind hmac, bound to this pack." },
    job_id: {
      type: "string",
      maxLength: 256,
      description: "The member of the body that names the job; a JSON Pointer for deeper ones.",
    },
    event_id: { type: "string", maxLength: 256, description: "The member of the body that names the event." },
    event_id_header: {
      ...headerSchema,
      description: "The field that names the event; the signature does not cover it.",
    },
    signature: {
      type: "object",
      additionalProperties: false,
      required: ["header"],
      description: "For verify: hmac_sha256 alone.",
      properties: {
        header: { ...headerSchema, description: "The field that carries the HMAC." },
        prefix: { type: "string", pattern: "^[!-~]{0,32}$", description: "What stands before it, such as sha256=." },
        encoding: { enum: ["hex", "base64"] },
      },
    },
  },
} as const satisfies JsonSchema;

const scopeSchema = { type: "string", pattern: "^[a-z0-9][a-z0-9-]{0,62}$" } as const;

export const providerSchema = {
  type: "object",
  additionalProperties: false,
  required: ["origin"],
  properties: {
    origin: { type: "string", maxLength: 300, description: "Scheme, host and port: https, or http on loopback." },
    credential: labelSchema,
    auth: {
      type: "object",
      additionalProperties: false,
      required: ["scheme"],
      description: "How the credential is carried.",
      properties: {
        scheme: { enum: ["bearer", "basic", "header", "oauth2", "aws-sigv4", "http-signature", "mtls"] },
        scopes: { ...tokenScopesSchema, description: "What a token has to be good for; for scheme: oauth2 alone." },
        header: { ...headerSchema, description: "The field that carries it; for scheme: header alone." },
        region: {
          ...scopeSchema,
          description: "What the signature is for, such as eu-west-1; for scheme: aws-sigv4 alone.",
        },
        service: { ...scopeSchema, description: "Such as s3; for scheme: aws-sigv4 alone." },
        form: {
          enum: ["header", "query"],
          description: "Where the signature stands: header, or query for a minute; for scheme: aws-sigv4 alone.",
        },
      },
    },
    version: {
      type: "object",
      additionalProperties: false,
      required: ["header", "value"],
      description: "The version selector that every request carries.",
      properties: {
        header: headerSchema,
        value: { type: "string", pattern: "^[!-~]{1,64}$", description: "Quote dates, so that they stay text." },
      },
    },
    idempotency: {
      type: "object",
      additionalProperties: false,
      required: ["header", "window_s"],
      description: "Where the idempotency token goes, and how long the provider remembers it.",
      properties: {
        header: headerSchema,
        window_s: { type: "integer", minimum: 1, maximum: 31_536_000 },
        format: { enum: ["uuid", "opaque"], description: "How the token is written; a UUID unless said otherwise." },
      },
    },
    success: {
      type: "object",
      additionalProperties: false,
      required: ["member", "is"],
      description:
        "For a provider that answers 200 to everything: the member of the JSON answer that says whether it was taken.",
      properties: {
        member: { type: "string", minLength: 1, maxLength: 64 },
        is: { type: ["string", "boolean", "integer"], maxLength: 64, description: "Its value when it was." },
      },
    },
    correlation_header: { ...headerSchema, description: "The field that carries our correlation identifier." },
    redirects: {
      type: "object",
      additionalProperties: false,
      description: "Where a redirect may lead. The provider's own origin is always among them.",
      properties: {
        origins: { type: "array", maxItems: 16, items: { type: "string", maxLength: 300 } },
        others: { enum: ["refuse", "ask"], description: "Refuse any other origin, or ask a person." },
        credential: {
          enum: ["strip", "refuse"],
          description: "At an approved origin that may not see the credential.",
        },
        max: { type: "integer", minimum: 0, maximum: 10 },
      },
    },
    network: { enum: ["public", "private"], description: "Whether the origin may resolve to a private address." },
    ca: {
      type: "string",
      minLength: 1,
      maxLength: 1024,
      description: "A PEM file of the authority to trust instead of the system's.",
    },
    limits: limitsSchema,
    callbacks: callbacksSchema,
    accepts: {
      type: "array",
      minItems: 1,
      maxItems: 32,
      items: mediaRange,
      description: "What a tool in a box may ask for where an action asks for JSON: the same answer to this provider.",
    },
    tolerates: {
      type: "array",
      minItems: 1,
      maxItems: 64,
      items: headerSchema,
      description: "Header fields of tools in a box that change nothing for this provider, and are not sent.",
    },
    token_variables: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      items: { type: "string", pattern: "^[A-Z][A-Z0-9_]{0,60}(TOKEN|KEY|SECRET|PASSWORD)$" },
      description: "Variables in which tools look for their token: in a box they hold a placeholder.",
    },
  },
} as const satisfies JsonSchema;

import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import type { RequestRecord } from "../../../packages/request/src/record.ts";
import { defineRoute } from "../../../packages/request/src/route.ts";
import { type Answer, type BoundRoute, bindRoute } from "../../../packages/request/src/serve.ts";
import { Denied } from "../../../src/kernel/failure.ts";

/** One route of each kind, shaped after the specification's reference actions. */
export const signer = generateKeyPairSync("ed25519");
const signerPublic = createPublicKey(signer.publicKey.export({ type: "spki", format: "pem" }));

export const promote = defineRoute(
  {
    method: "POST",
    path: "/v1/deployments/promote",
    body: {
      kind: "json",
      maxBytes: 4096,
      schema: {
        type: "object",
        required: ["environment", "release"],
        properties: {
          environment: { type: "string", enum: ["staging", "production"] },
          release: { type: "string", minLength: 1, maxLength: 64 },
          build: { type: "integer", minimum: 1 },
          weight: { type: "number" },
          forced: { type: "boolean" },
          note: { type: ["string", "null"], maxLength: 20 },
          tags: { type: "array", maxItems: 3, items: { type: "string", pattern: "^[a-z]+(-[a-z]+)*$", maxLength: 16 } },
          start: { type: "string", format: "date" },
          owner: { type: "object", required: ["id"], properties: { id: { type: "integer" } } },
        },
      },
    },
    recorded: ["/body/environment"],
  },
  ({ body }) =>
    body.environment === "production" && body.forced === true
      ? [{ code: "value_not_allowed", path: "/forced", message: "production is never forced" }]
      : [],
);

export const search = defineRoute({
  method: "POST",
  path: "/v1/searches",
  body: {
    kind: "form",
    maxBytes: 4096,
    schema: {
      type: "object",
      required: ["q"],
      properties: {
        q: { type: "string", maxLength: 100 },
        page: { type: "integer", minimum: 1 },
        archived: { type: "boolean" },
        label: { type: "array", maxItems: 4, items: { type: "string" } },
      },
    },
  },
});

export const upload = defineRoute({
  method: "POST",
  path: "/v1/artifacts",
  body: {
    kind: "multipart",
    maxBytes: 8192,
    parts: {
      file: { kind: "file", maxBytes: 4096, filename: "required", contentType: ["application/octet-stream"] },
      manifest: {
        kind: "json",
        maxBytes: 512,
        contentType: "optional",
        schema: { type: "object", required: ["version"], properties: { version: { type: "string" } } },
      },
      comment: { kind: "text", optional: true, maxBytes: 64, contentType: "refused", schema: { type: "string" } },
    },
  },
});

export const revoke = defineRoute({
  method: "POST",
  path: "/v1/sessions/revoke",
  query: { type: "object", properties: { reason: { type: "string", enum: ["lost", "stolen"] } } },
  body: { kind: "none" },
});

export const projects = defineRoute({
  method: "GET",
  path: "/v1/projects",
  query: {
    type: "object",
    properties: {
      state: { type: "string", enum: ["active", "archived"] },
      limit: { type: "integer", minimum: 1, maximum: 100 },
      cursor: { type: "string", maxLength: 64 },
      label: { type: "array", maxItems: 3, items: { type: "string" } },
    },
  },
  body: { kind: "none" },
});

export const builds = defineRoute({
  method: "GET",
  path: "/v1/projects/{project_id}/builds",
  params: {
    type: "object",
    required: ["project_id"],
    properties: { project_id: { type: "string", maxLength: 32 } },
  },
  body: { kind: "none" },
});

export const release = defineRoute({
  method: "POST",
  path: "/v1/releases",
  query: { type: "object", properties: { dry: { type: "boolean" }, at: { type: "string" } } },
  body: {
    kind: "json",
    schema: {
      type: "object",
      required: ["service"],
      properties: { service: { type: "string" }, n: { type: "number" } },
    },
  },
  signed: {
    scheme: "canonical",
    verify: (keyId, statement, signature) => keyId === "ci-1" && verify(null, statement, signerPublic, signature),
  },
});

/** Every route echoes its command and digest; nobody may promote the release called `forbidden`. */
export function bindAll(): readonly BoundRoute[] {
  const echo = (request: { readonly command: unknown; readonly digest: string }): Answer => ({
    status: 200,
    body: { digest: request.digest, command: JSON.parse(JSON.stringify(request.command)) },
  });
  const open = { authorize: () => "open to all", execute: echo };
  return [
    bindRoute(promote, {
      authorize({ command }) {
        if (command.body.release === "forbidden") throw new Denied("action_not_permitted", "not this release");
        return "release policy";
      },
      execute(request) {
        if (request.command.body.release === "explode") throw new Error("the handler failed: secret detail");
        return echo(request);
      },
    }),
    bindRoute(search, open),
    bindRoute(upload, open),
    bindRoute(revoke, open),
    bindRoute(projects, open),
    bindRoute(builds, open),
    bindRoute(release, open),
  ];
}

export type Records = RequestRecord[];

import { RELEASE_ID_PATTERN } from "../../../../src/conventions/rollback/record.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Answer } from "../../../request/src/serve.ts";
import type { Core } from "../core.ts";
import { recordRelease } from "../deployment/release.ts";
import { environments } from "../deployment/target.ts";
import { recordChange } from "../events.ts";
import { underToken } from "../idempotency.ts";
import {
  findByClientId,
  findOwn,
  type OperationRow,
  operationNow,
  operationStatus,
  startOperation,
} from "../operation/operation.ts";
import { settleOperation } from "../operation/settle.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";
import type { Version } from "../version.ts";

const clientId = { type: "string", minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]*$" } as const;
const text = { type: "string", minLength: 1, maxLength: 128 } as const;
const environment = { enum: environments } as const;
const token = {
  name: "Idempotency-Key",
  required: true,
  description: "One for each intent; a repeat repeats the answer",
};

export function operationRoutes(core: Core, route: MakeRoute, version: Version): readonly ReferenceRoute[] {
  return [release(core, route, version), deploy(core, route), readById(core, route), readByClientId(core, route)];
}

/** A release is recorded at once; its operation is there so that whoever lost the answer can ask by their own name for it. */
function release(core: Core, route: MakeRoute, version: Version): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/releases",
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["operation_id", "service", "artifact", "environment"],
          properties: {
            operation_id: clientId,
            service: text,
            artifact: { type: "string", pattern: RELEASE_ID_PATTERN, maxLength: 71 },
            environment,
          },
        },
      },
      recorded: ["/body/operation_id", "/body/service", "/body/artifact", "/body/environment"],
    },
    {
      summary: "Record a release of an artifact, by its digest",
      answers: { 201: { description: "The release" } },
      headers: [token],
      // The later version takes a scope that more credentials carry: a denial there became a 201.
      scope: version === "2026-04-01" ? "releases:write" : "deployments:write",
    },
    ({ command: { body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => {
        const { service, artifact, environment: to } = body;
        const made = recordRelease(core, who, { service, artifact, environment: to, sourceRevision: artifact });
        const operation = startOperation(core, who, {
          ...{
            kind: "release",
            request: { ...body, release_id: made.release_id },
            durationMs: 0,
            fails: false,
            jobId: null,
          },
          clientIds: [body.operation_id, who.fields.idempotencyKey, who.fields.correlationId],
        });
        settleOperation(core, operation);
        const { release_id, artifact_digest, config_digest } = made;
        return {
          status: 201,
          body: {
            release_id,
            operation_id: body.operation_id,
            service,
            artifact: artifact_digest,
            environment: to,
            config_digest,
          },
        };
      }),
  );
}

function deploy(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/deployments",
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["repository", "revision", "environment"],
          properties: {
            repository: text,
            revision: { type: "string", pattern: "^[0-9a-f]{40}$", maxLength: 40 },
            environment,
          },
        },
      },
      recorded: ["/body/repository", "/body/revision", "/body/environment"],
    },
    {
      summary: "Build and deploy a revision; the operation tells how it goes",
      answers: { 202: { description: "Accepted, which is not done" } },
      headers: [token, { name: "X-Correlation-ID", required: false, description: "The client's name for it" }],
      scope: "deployments:write",
    },
    ({ command: { body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => {
        const row = startOperation(core, who, {
          kind: "deployment",
          request: body,
          durationMs: defaults.referenceDeploymentMs,
          fails: core.faults.take(["job_fails"], endpoint) !== undefined,
          jobId: null,
          clientIds: [who.fields.correlationId, who.fields.idempotencyKey],
        });
        recordChange(
          core,
          {
            tenant: who.tenant,
            actor: who.actor,
            type: "deployment.requested",
            resource: `operations/${row.operation_id}`,
          },
          { operation_id: row.operation_id },
        );
        return accepted(core, row, {
          operation_id: row.operation_id,
          state: row.state,
          status_url: `/operations/${row.operation_id}`,
        });
      }),
  );
}

/** 202 says where to look and when to look first. */
export function accepted(
  core: Pick<Core, "subscribed">,
  row: OperationRow,
  body: JsonObject & { readonly status_url: string },
): Answer {
  const waitS = Math.max(1, Math.ceil(row.duration_ms / 4_000));
  return { status: 202, body, headers: { location: body.status_url, ...lookAgain(core, waitS) } };
}

/** When to look again. Whoever is told by a webhook need not be told when to ask. */
export function lookAgain(core: Pick<Core, "subscribed">, waitS: number): Readonly<Record<string, string>> {
  return core.subscribed() ? {} : { "retry-after": String(waitS) };
}

function readById(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "GET",
      path: "/operations/{operation_id}",
      params: { type: "object", required: ["operation_id"], properties: { operation_id: clientId } },
      body: { kind: "none" },
    },
    { summary: "The status of an operation", answers: { 200: { description: "Status" } }, scope: "operations:read" },
    ({ command: { params }, who }) => statusAnswer(core, findOwn(core, who, "operation_id", params.operation_id)),
  );
}

function readByClientId(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "GET",
      path: "/operations/by-id/{client_operation_id}",
      params: { type: "object", required: ["client_operation_id"], properties: { client_operation_id: clientId } },
      body: { kind: "none" },
    },
    {
      summary:
        "The status of an operation, by the client's name for it: its operation_id, token, trace or correlation identifier",
      answers: { 200: { description: "Status" } },
      scope: "operations:read",
    },
    ({ command: { params }, who }) => statusAnswer(core, findByClientId(core, who, params.client_operation_id)),
  );
}

function statusAnswer(core: Core, found: OperationRow): Answer {
  const row = settleOperation(core, found);
  const { dueAtMs } = operationNow(core, row);
  const headers = dueAtMs === null ? {} : lookAgain(core, 1);
  return { status: 200, body: operationStatus(core, row), headers };
}

import { RELEASE_ID_PATTERN } from "../../../../src/conventions/rollback/record.ts";
import { classifyReversibility } from "../../../../src/conventions/rollback/reversibility.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Who } from "../context.ts";
import type { Core } from "../core.ts";
import { endCapabilities, issueCapability } from "../deployment/capability.ts";
import { type DeploymentRow, findDeployment, provenanceOf, stateNow } from "../deployment/deployment.ts";
import { executePromotion, previewPromotion } from "../deployment/plan.ts";
import { findRelease, type Promoted, promoteRelease } from "../deployment/promote.ts";
import { rollBack } from "../deployment/rollback.ts";
import { entityTag, environments, readTarget, requireMatch } from "../deployment/target.ts";
import { underToken } from "../idempotency.ts";
import { refuseUsed } from "../plan/execute.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";

const environment = { enum: environments } as const;
const environmentParams = { type: "object", required: ["environment"], properties: { environment } } as const;
/** A digest names what it is; a tag names whatever somebody points it at, and is refused. */
const release = { type: "string", pattern: RELEASE_ID_PATTERN, maxLength: 71 } as const;
const deploymentId = { type: "string", minLength: 1, maxLength: 64 } as const;
const token = {
  name: "Idempotency-Key",
  required: true,
  description: "One for each intent; a repeat repeats the answer",
};
const condition = { name: "If-Match", required: false, description: "The entity tag of the environment: stale is 412" };

export function environmentRoutes(core: Core, route: MakeRoute): readonly ReferenceRoute[] {
  return [
    readEnvironment(core, route),
    promote(core, route),
    plan(core, route),
    execute(core, route),
    setTarget(core, route),
    rollback(core, route),
    readDeployment(core, route),
    grant(core, route),
    revoke(core, route),
  ];
}

function readEnvironment(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/v1/environments/{environment}", params: environmentParams, body: { kind: "none" } },
    {
      summary: "The state of a target, with its entity tag",
      answers: { 200: { description: "The target" } },
      scope: "deployments:read",
    },
    ({ command: { params }, who }) => {
      const target = readTarget(core, who.tenant, params.environment);
      return { status: 200, body: target, headers: { etag: entityTag(who.tenant, target) } };
    },
  );
}

function promote(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/deployments/promote",
      body: {
        kind: "json",
        schema: { type: "object", required: ["environment", "release"], properties: { environment, release } },
      },
      recorded: ["/body/environment", "/body/release"],
    },
    {
      summary: "Put a release on an environment",
      answers: { 201: { description: "Accepted: the provenance record and the authority to undo it" } },
      headers: [token, condition],
      scope: "deployments:write",
    },
    ({ command: { body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => promoteTo(core, who, body.environment, body.release, false)),
  );
}

function plan(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/deployments/plan",
      body: {
        kind: "json",
        schema: { type: "object", required: ["environment", "release"], properties: { environment, release } },
      },
      recorded: ["/body/environment", "/body/release"],
    },
    {
      summary: "What putting a release on an environment would change. Nothing is changed.",
      answers: { 200: { description: "A preview: `mode` is `preview`" } },
      scope: "deployments:read",
    },
    ({ command: { body }, who }) => ({
      status: 200,
      body: previewPromotion(core, who, { environment: body.environment, release: body.release }),
      headers: { "cache-control": "no-store" },
    }),
  );
}

function execute(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/deployments/execute",
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["plan_id", "expected_revision"],
          properties: {
            plan_id: { type: "string", minLength: 1, maxLength: 64 },
            expected_revision: { type: "string", minLength: 1, maxLength: 64 },
          },
        },
      },
      recorded: ["/body/plan_id", "/body/expected_revision"],
    },
    {
      summary: "Carry out a previewed promotion, by its plan and nothing else",
      answers: { 201: { description: "Accepted: the provenance record and the authority to undo it" } },
      headers: [token],
      scope: "deployments:write",
    },
    ({ command: { body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => {
        const found = core.promotions.get(body.plan_id) ?? refuseUsed(core, who, body.plan_id);
        return promotedAnswer(core, executePromotion(core, who, found, body.expected_revision));
      }),
  );
}

/** The same write for those who always say what they read: without If-Match it is 428. */
function setTarget(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "PUT",
      path: "/v1/environments/{environment}/target",
      params: environmentParams,
      body: { kind: "json", schema: { type: "object", required: ["release"], properties: { release } } },
      recorded: ["/params/environment", "/body/release"],
    },
    {
      summary: "Put a release on an environment, if it is still as it was read",
      answers: { 201: { description: "Accepted" } },
      headers: [token, { ...condition, required: true }],
      scope: "deployments:write",
    },
    ({ command: { params, body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => promoteTo(core, who, params.environment, body.release, true)),
  );
}

function promoteTo(core: Core, who: Who, to: string, releaseId: string, conditional: boolean) {
  const target = readTarget(core, who.tenant, to);
  requireMatch(who, target, conditional);
  return promotedAnswer(core, promoteRelease(core, target, { tenant: who.tenant, actor: who.actor, releaseId }));
}

function promotedAnswer(core: Core, { deployment, generation, capability }: Promoted) {
  const body = { ...describe(core, deployment), target_generation: generation, capability };
  return { status: 201, body, headers: { location: `/v1/deployments/${deployment.deployment_id}` } };
}

function rollback(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/environments/{environment}/rollbacks",
      params: environmentParams,
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: [
            ...["origin_deployment_id", "expected_current_release_id", "expected_target_generation"],
            ...["restore_release_id", "reason", "approval_id"],
          ] as const,
          properties: {
            origin_deployment_id: deploymentId,
            expected_current_release_id: release,
            expected_target_generation: { type: "integer", minimum: 0 },
            restore_release_id: release,
            reason: { type: "string", minLength: 1, maxLength: 500 },
            approval_id: { type: "string", minLength: 1, maxLength: 128 },
          },
        },
      },
      recorded: ["/params/environment", "/body/origin_deployment_id", "/body/restore_release_id", "/body/approval_id"],
    },
    {
      summary: "Undo one deployment while it is the current one",
      answers: {
        201: { description: "The target is at the restored release, one generation on" },
        409: { description: "`stale_rollback`, with what was observed" },
      },
      headers: [token, condition],
      scope: "rollbacks:write",
    },
    ({ command: { params, body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => ({
        status: 201,
        body: rollBack(core, who, params.environment, body),
      })),
  );
}

function readDeployment(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/v1/deployments/{deployment_id}", params: deploymentParams, body: { kind: "none" } },
    {
      summary: "A deployment and its provenance",
      answers: { 200: { description: "The record" } },
      scope: "deployments:read",
    },
    ({ command: { params }, who }) => ({
      status: 200,
      body: describe(core, requireDeployment(core, who, params.deployment_id)),
    }),
  );
}

const deploymentParams = {
  type: "object",
  required: ["deployment_id"],
  properties: { deployment_id: deploymentId },
} as const;

/** The separate, explicit authority over another actor's deployment: given by a person, for one deployment and route. */
function grant(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/deployments/{deployment_id}/capabilities",
      params: deploymentParams,
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["actor_id"],
          properties: { actor_id: { type: "string", minLength: 1, maxLength: 64 } },
        },
      },
      recorded: ["/params/deployment_id", "/body/actor_id"],
    },
    {
      summary: "Let an actor undo another's deployment",
      answers: { 201: { description: "The authority" } },
      scope: "capabilities:issue",
    },
    ({ command: { params, body }, who }) =>
      core.store.write(() => {
        const deployment = requireDeployment(core, who, params.deployment_id);
        const state = stateNow(core, deployment);
        if (state !== "running" && state !== "active")
          throw new Denied("record_inactive", `the deployment is ${state}`);
        return { status: 201, body: issueCapability(core, who.tenant, deployment, body.actor_id, who.actor) };
      }),
  );
}

function revoke(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "DELETE",
      path: "/v1/deployments/{deployment_id}/capabilities",
      params: deploymentParams,
      body: { kind: "none" },
    },
    {
      summary: "End every authority over a deployment",
      answers: { 200: { description: "Ended" } },
      scope: "capabilities:issue",
    },
    ({ command: { params }, who }) =>
      core.store.write(() => {
        const { deployment_id } = requireDeployment(core, who, params.deployment_id);
        endCapabilities(core, who.tenant, deployment_id);
        return { status: 200, body: { deployment_id, capabilities: "ended" } };
      }),
  );
}

function requireDeployment(core: Core, who: Who, id: string): DeploymentRow {
  const row = findDeployment(core, who.tenant, id);
  if (row === undefined) throw new Denied("not_found", "there is no such deployment");
  return row;
}

function describe(core: Core, row: DeploymentRow): JsonObject {
  const prior = row.prior_release_id === null ? undefined : findRelease(core, row.tenant_id, row.prior_release_id);
  const own = findRelease(core, row.tenant_id, row.release_id);
  const reversibility = classifyReversibility(provenanceOf(row), {
    priorConfigDigest: prior?.config_digest ?? null,
    migrations: own?.migrations ?? "unproven",
  });
  const { rollback_of, updated_at } = row;
  return { ...provenanceOf(row), status: stateNow(core, row), reversibility, rollback_of, updated_at };
}

import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Who } from "../context.ts";
import type { Core } from "../core.ts";
import { underToken } from "../idempotency.ts";
import { executePlan } from "../membership/execute.ts";
import { findMembership, revisionText } from "../membership/plan.ts";
import { openPlanToken, previewMembership, readEffects } from "../membership/preview.ts";
import { refuseUsed } from "../plan/execute.ts";
import { requireProject } from "../project.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";
import { readRole, roleNames, type Version } from "../version.ts";
import { projectParams } from "./projects.ts";

const PLAN_TOKEN_CHARACTERS = 4_096;

export function membershipRoutes(core: Core, route: MakeRoute, version: Version): readonly ReferenceRoute[] {
  return [plan(core, route, version), effects(core, route), execute(core, route), read(core, route, version)];
}

function plan(core: Core, route: MakeRoute, version: Version): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/projects/{project_id}/memberships/plan",
      params: projectParams,
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["subject_id", "role"],
          properties: {
            subject_id: { type: "string", minLength: 1, maxLength: 64 },
            role: { enum: Object.values(roleNames(version)) },
            if_match: { type: "string", minLength: 1, maxLength: 64 },
          },
        },
      },
      recorded: ["/params/project_id", "/body/subject_id", "/body/role"],
    },
    {
      summary: "What granting a role would change. Nothing is changed.",
      answers: { 200: { description: "A preview: `mode` is `preview`" } },
      headers: [{ name: "If-Match", required: false, description: "The project's entity tag, instead of `if_match`" }],
      scope: "memberships:plan",
    },
    ({ command: { params, body }, who }) => {
      const role = readRole(version, body.role);
      if (role === undefined) throw new Denied("value_not_allowed", "there is no such role");
      const { project_id } = params;
      if (body.if_match !== undefined && who.fields.ifMatch !== undefined) {
        throw new Denied("header_value_refused", "if_match and If-Match say the same thing: send one of them");
      }
      const if_match = body.if_match ?? matchedRevision(core, who, project_id);
      const intent = { project_id, subject_id: body.subject_id, role, if_match };
      const preview = previewMembership(core, who, version, intent);
      return { status: 200, body: preview, headers: { "cache-control": "no-store" } };
    },
  );
}

/** The header is the other way to say which revision was read: stale is 412 there, absent 428. */
function matchedRevision(core: Core, who: Who, projectId: string): string {
  const { ifMatch } = who.fields;
  if (ifMatch === undefined)
    throw new Denied("precondition_required", "send if_match, or If-Match with the entity tag");
  const revision = revisionText(requireProject(core, who, projectId).revision);
  if (ifMatch !== `"${revision}"`) throw new Denied("precondition_failed", "the project has changed since it was read");
  return revision;
}

function effects(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "GET",
      path: "/v1/plans/{plan_id}/effects",
      params: { type: "object", required: ["plan_id"], properties: { plan_id: { type: "string", maxLength: 64 } } },
      query: {
        type: "object",
        required: ["cursor"],
        properties: { cursor: { type: "string", minLength: 1, maxLength: defaults.referenceCursorCharacters } },
      },
      body: { kind: "none" },
    },
    {
      summary: "The rest of a large set of effects",
      answers: { 200: { description: "A page" } },
      scope: "memberships:plan",
    },
    ({ command: { params, query }, who }) => ({
      status: 200,
      body: readEffects(core, who, params.plan_id, query.cursor),
      headers: { "cache-control": "no-store" },
    }),
  );
}

function execute(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/memberships",
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["expected_revision"],
          properties: {
            plan_id: { type: "string", minLength: 1, maxLength: 64 },
            plan_token: { type: "string", minLength: 1, maxLength: PLAN_TOKEN_CHARACTERS },
            expected_revision: { type: "string", minLength: 1, maxLength: 64 },
          },
        },
      },
      recorded: ["/body/plan_id", "/body/expected_revision"],
    },
    {
      summary: "Carry out a previewed plan: by its identifier or its token, and nothing else",
      answers: { 200: { description: "All of the plan was applied: `mode` is `executed`" } },
      headers: [{ name: "Idempotency-Key", required: false, description: "Repeats the answer instead of `plan_used`" }],
      scope: "memberships:write",
    },
    ({ command: { body, endpoint }, digest, who }) => {
      const found =
        body.plan_id === undefined ? openPlanToken(core, body.plan_token ?? "") : core.plans.get(body.plan_id);
      const work = () => {
        const plan = found ?? refuseUsed(core, who, body.plan_id);
        return { status: 200, body: executePlan(core, who, plan, body.expected_revision) };
      };
      const answer = who.fields.idempotencyKey === undefined ? work() : underToken(core, who, endpoint, digest, work);
      core.step("execute_committed");
      return answer;
    },
    ({ body }) =>
      (body.plan_id === undefined) === (body.plan_token === undefined)
        ? [{ code: "value_not_allowed", path: "", message: "exactly one of plan_id and plan_token" }]
        : [],
  );
}

function read(core: Core, route: MakeRoute, version: Version): ReferenceRoute {
  return route(
    {
      method: "GET",
      path: "/v1/projects/{project_id}/memberships/{subject_id}",
      params: {
        type: "object",
        required: ["project_id", "subject_id"],
        properties: { ...projectParams.properties, subject_id: { type: "string", maxLength: 64 } },
      },
      body: { kind: "none" },
    },
    { summary: "One membership", answers: { 200: { description: "The membership" } }, scope: "projects:read" },
    ({ command: { params }, who }) => {
      const project = requireProject(core, who, params.project_id);
      const found = findMembership(core, who.tenant, project.project_id, params.subject_id);
      if (found === undefined) throw new Denied("not_found", "there is no such membership");
      const revision = revisionText(project.revision);
      return {
        status: 200,
        body: {
          ...{ project_id: project.project_id, subject_id: found.subject_id, role: roleNames(version)[found.role] },
          ...{ revision, changed_at_revision: revisionText(found.revision) },
        },
        headers: { etag: `"${revision}"` },
      };
    },
  );
}

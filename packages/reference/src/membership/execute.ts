import { sql } from "kysely";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Who } from "../context.ts";
import { type Core, nowIso } from "../core.ts";
import { post, recordChange } from "../events.ts";
import { carryOut } from "../plan/execute.ts";
import { type Role, roleNames } from "../version.ts";
import { type PlannedMembership, planMembership, revisionText } from "./plan.ts";
import type { MembershipPlan } from "./shelf.ts";

/** Carries out one previewed plan. What cannot join its transaction leaves from the outbox afterwards. */
export function executePlan(
  core: Core,
  who: Who,
  plan: MembershipPlan | undefined,
  expectedRevision: string,
): JsonObject {
  const again = (one: MembershipPlan) => replan(core, who, one);
  return carryOut(core, who, plan, expectedRevision, again, (one, planned) => apply(core, who, one, planned));
}

/** Undefined where the same intent is refused today: then nothing can be shown to be equivalent. */
function replan(core: Core, who: Who, plan: MembershipPlan): PlannedMembership | undefined {
  try {
    return planMembership(core, who, plan.version, plan.intent);
  } catch (error) {
    if (error instanceof Denied && error.code !== "project_forbidden") return undefined;
    throw error;
  }
}

function apply(core: Core, who: Who, plan: MembershipPlan, planned: PlannedMembership): JsonObject {
  const { store } = core;
  const { project, subject } = planned;
  const { role } = plan.intent;
  const [tenant_id, project_id, subject_id] = [who.tenant, project.project_id, subject.subject_id];
  const revision = project.revision + 1;
  const executed_at = nowIso(core);
  store.run(
    store.db
      .insertInto("memberships")
      .values({ tenant_id, project_id, subject_id, role, revision })
      .onConflict((conflict) =>
        conflict.columns(["tenant_id", "project_id", "subject_id"]).doUpdateSet({ role, revision }),
      ),
  );
  if (subject.kind === "group") grantToMembers(core, tenant_id, project_id, subject_id, role);
  store.run(
    store.db
      .updateTable("projects")
      .set({ revision, updated_at: executed_at })
      .where("tenant_id", "=", tenant_id)
      .where("project_id", "=", project_id)
      .where("revision", "=", project.revision),
  );
  const resource = `projects/${project_id}/memberships/${subject_id}`;
  const eventId = recordChange(
    core,
    { tenant: tenant_id, actor: who.actor, type: "membership.changed", resource },
    { role, plan_id: plan.plan_id },
  );
  if (subject.email !== null) {
    post(core, tenant_id, eventId, "mail", { to: subject.email, about: resource, plan_id: plan.plan_id });
  }
  core.step("execute_applied");
  return {
    mode: "executed",
    plan_id: plan.plan_id,
    request_digest: plan.request_digest,
    executed_at,
    revision: revisionText(revision),
    membership: { project_id, subject_id, role: roleNames(plan.version)[role] },
    applied: { direct: planned.effects.direct.length, derived: planned.effects.derived.length },
    separate: planned.effects.separate.map(({ resource: what, compensating_action = "" }) => ({
      ...{ resource: what, state: "queued", compensating_action },
    })),
  };
}

/** One statement however large the group is: the rows that the preview listed, since the same revisions were read. */
function grantToMembers(core: Core, tenant: string, projectId: string, groupId: string, role: Role): void {
  const { store } = core;
  store.run(
    store.db
      .insertInto("effective_access")
      .columns(["tenant_id", "project_id", "subject_id", "role", "via"])
      .expression((from) =>
        from
          .selectFrom("group_members")
          .select(["tenant_id", sql.val(projectId).as("project_id"), "subject_id"])
          .select([sql.val(role).as("role"), "group_id"])
          .where("tenant_id", "=", tenant)
          .where("group_id", "=", groupId),
      )
      .onConflict((conflict) =>
        conflict.columns(["tenant_id", "project_id", "via", "subject_id"]).doUpdateSet({ role }),
      ),
  );
}

import { digestPlan, type Effects } from "../../../../src/conventions/plan/effects.ts";
import type { Assumption, PlanEffect, Validation } from "../../../../src/conventions/plan/record.ts";
import { digestJson } from "../../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Core } from "../core.ts";
import type { Planned } from "../plan/execute.ts";
import { requireProject } from "../project.ts";
import type { Tables } from "../tables.ts";
import { type Role, roleNames, type Version } from "../version.ts";
import type { MembershipIntent } from "./shelf.ts";

export interface Actor {
  readonly tenant: string;
  readonly actor: string;
}

export interface PlannedMembership extends Planned {
  readonly assumptions: readonly Assumption[];
  readonly project: Tables["projects"];
  readonly subject: Tables["subjects"];
}

export function planMembership(
  core: Core,
  actor: Actor,
  version: Version,
  intent: MembershipIntent,
): PlannedMembership {
  const { store } = core;
  const { role } = intent;
  const project = requireProject(core, actor, intent.project_id);
  if (project.state !== "active") throw new Denied("record_inactive", `the project is ${project.state}`);
  const subject = store.one(
    store.db
      .selectFrom("subjects")
      .selectAll()
      .where("tenant_id", "=", actor.tenant)
      .where("subject_id", "=", intent.subject_id),
  );
  if (subject === undefined) {
    const errors = [{ code: "value_not_allowed", path: "/subject_id", message: "names nobody" }] as const;
    throw new Denied("schema_violation", "/subject_id: names nobody", { errors });
  }
  const current = findMembership(core, actor.tenant, project.project_id, subject.subject_id);
  const groupMembers = subject.kind === "group" ? membersOf(core, actor.tenant, subject.subject_id) : [];
  const readRevisions = [
    { resource: `projects/${project.project_id}`, revision: revisionText(project.revision) },
    { resource: `subjects/${subject.subject_id}`, revision: revisionText(subject.revision) },
  ];
  const effects = effectsOf(version, project, subject, current, groupMembers, role);
  const requestDigest = digestJson(intent);
  return {
    validation: validate(project, current, intent, groupMembers.length || 1),
    readRevisions,
    effects,
    assumptions: [
      { dependency: "mail", assumed: "the notice can be delivered later", may_proceed_without: true },
      {
        dependency: "directory",
        assumed: "the members of the subject are those on record",
        may_proceed_without: false,
      },
    ],
    requestDigest,
    equivalence: digestPlan(requestDigest, readRevisions, effects),
    ...{ project, subject },
  };
}

export function revisionText(revision: number): string {
  return `r${revision}`;
}

export function findMembership(
  core: Core,
  tenant: string,
  projectId: string,
  subjectId: string,
): Tables["memberships"] | undefined {
  const { store } = core;
  return store.one(
    store.db
      .selectFrom("memberships")
      .selectAll()
      .where("tenant_id", "=", tenant)
      .where("project_id", "=", projectId)
      .where("subject_id", "=", subjectId),
  );
}

function membersOf(core: Core, tenant: string, groupId: string): readonly string[] {
  const { store } = core;
  const found = store.all(
    store.db
      .selectFrom("group_members")
      .select("subject_id")
      .where("tenant_id", "=", tenant)
      .where("group_id", "=", groupId)
      .orderBy("subject_id"),
  );
  return found.map((row) => row.subject_id);
}

function validate(
  project: Tables["projects"],
  current: Tables["memberships"] | undefined,
  intent: MembershipIntent,
  seats: number,
): readonly Validation[] {
  const found: Validation[] = [];
  if (intent.if_match !== revisionText(project.revision)) {
    found.push({
      severity: "error",
      code: "version_conflict",
      path: "/if_match",
      message: `the project is at ${revisionText(project.revision)}`,
      blocks_execution: true,
      repair: "fetch the current resource and create a new preview",
    });
  }
  if (project.legal_hold === 1) {
    found.push({
      severity: "error",
      code: "legal_hold_active",
      path: "",
      message: "a legal hold freezes the members of this project",
      blocks_execution: true,
      repair: null,
    });
  }
  if (current === undefined) {
    found.push({
      severity: "warning",
      code: "member_count_change",
      path: "/subject_id",
      message: `${seats} more may enter the project`,
      blocks_execution: false,
      repair: null,
    });
  }
  return found;
}

function effectsOf(
  version: Version,
  project: Tables["projects"],
  subject: Tables["subjects"],
  current: Tables["memberships"] | undefined,
  groupMembers: readonly string[],
  role: Role,
): Effects {
  const names = roleNames(version);
  const before = current === undefined ? null : { role: names[current.role] };
  const after = { role: names[role] };
  const at = `projects/${project.project_id}`;
  const direct: PlanEffect = {
    resource: `${at}/memberships/${subject.subject_id}`,
    revision: current === undefined ? null : revisionText(current.revision),
    previous: before,
    proposed: after,
    cause: "request",
  };
  const derived = groupMembers.map(
    (member): PlanEffect => ({
      resource: `${at}/access/${member}`,
      revision: null,
      previous: before,
      proposed: after,
      cause: `member of the group ${subject.subject_id}`,
    }),
  );
  const mail: PlanEffect = {
    resource: `mail/${subject.email}`,
    revision: null,
    previous: null,
    proposed: { notice: "your role in a project has changed" },
    cause: direct.resource,
    compensating_action: "send a correction to the same address",
  };
  return { direct: [direct], derived, separate: subject.email === null ? [] : [mail] };
}

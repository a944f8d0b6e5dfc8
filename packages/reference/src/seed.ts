import { digestText } from "../../../src/kernel/canonical-json.ts";
import { isoTime } from "../../../src/kernel/clock.ts";
import { type Core, nowIso } from "./core.ts";
import { issueCapability } from "./deployment/capability.ts";
import type { ProjectState } from "./tables.ts";

/** Two tenants with enough in them to try everything on: a project on hold, a forbidden one, inactive ones, a large group. */
export function seed(core: Core): void {
  const { store } = core;
  const { db } = store;
  store.write(() => {
    if (store.one(db.selectFrom("settings").select("value").where("name", "=", "seeded")) !== undefined) return;
    for (const tenant of tenants) {
      for (const project of tenant.projects) addProject(core, tenant.tenant_id, project);
      for (let number = 1; number <= tenant.plainProjects; number++) {
        const name = `project-${String(number).padStart(3, "0")}`;
        addProject(core, tenant.tenant_id, { project_id: name, name: `Project ${number}`, labels: ["bulk"] });
      }
      addSubjects(core, tenant.tenant_id, tenant.groupSize);
      addIntegrations(core, tenant.tenant_id, tenant.integrations);
      addTargets(core, tenant.tenant_id);
    }
    store.run(db.insertInto("settings").values({ name: "seeded", value: nowIso(core) }));
  });
}

interface SeedProject {
  readonly project_id: string;
  readonly name: string;
  readonly state?: ProjectState;
  readonly legal_hold?: boolean;
  readonly restricted?: boolean;
  readonly labels?: readonly string[];
}

const tenants: readonly {
  readonly tenant_id: string;
  readonly projects: readonly SeedProject[];
  readonly plainProjects: number;
  readonly groupSize: number;
  readonly integrations: number;
}[] = [
  {
    tenant_id: "acme",
    projects: [
      { project_id: "atlas", name: "Atlas", labels: ["infra", "tier 1"] },
      { project_id: "borealis", name: "Borealis", labels: ["web"] },
      { project_id: "court", name: "Court records", legal_hold: true },
      { project_id: "crypt", name: "Crypt", restricted: true },
      { project_id: "dormant", name: "Dormant", state: "inactive" },
      { project_id: "elder", name: "Elder", state: "archived", labels: ["infra"] },
      { project_id: "team a/b%2Fc?d#é+1", name: "Any character", labels: ["c++ & co"] },
    ],
    plainProjects: 60,
    groupSize: 1_200,
    integrations: 120,
  },
  {
    tenant_id: "globex",
    projects: [{ project_id: "gemini", name: "Gemini", labels: ["infra"] }],
    plainProjects: 3,
    groupSize: 3,
    integrations: 3,
  },
];

function addProject(core: Core, tenant_id: string, project: SeedProject): void {
  const { store } = core;
  const { db } = store;
  const { project_id, name, state = "active", legal_hold = false, restricted = false } = project;
  const [hold, closed] = [legal_hold ? 1 : 0, restricted ? 1 : 0];
  const row = {
    tenant_id,
    project_id,
    name,
    state,
    legal_hold: hold,
    restricted: closed,
    revision: 1,
    updated_at: nowIso(core),
  };
  store.run(db.insertInto("projects").values(row));
  if (restricted) store.run(db.insertInto("project_access").values({ tenant_id, project_id, actor_id: "auditor" }));
  for (const label of project.labels ?? []) {
    store.run(db.insertInto("project_labels").values({ tenant_id, project_id, label }));
  }
  const builds = [1, 2, 3].map((number) => ({
    ...{ tenant_id, project_id, build_id: core.identify("bld"), number, state: "passed", created_at: nowIso(core) },
  }));
  store.run(db.insertInto("builds").values(builds));
}

function addSubjects(core: Core, tenant_id: string, groupSize: number): void {
  const { store } = core;
  const { db } = store;
  const subject = (subject_id: string, kind: "user" | "group", email: string | null) =>
    store.run(db.insertInto("subjects").values({ tenant_id, subject_id, kind, email, revision: 1 }));
  for (const name of ["ada", "grace", "linus"]) subject(name, "user", `${name}@${tenant_id}.example`);
  subject("robot", "user", null);
  subject("everyone", "group", `everyone@${tenant_id}.example`);
  const names = Array.from({ length: groupSize }, (_, index) => `person-${String(index + 1).padStart(4, "0")}`);
  for (let start = 0; start < names.length; start += 400) {
    const some = names.slice(start, start + 400);
    const people = some.map((subject_id) => ({
      tenant_id,
      subject_id,
      kind: "user" as const,
      email: null,
      revision: 1,
    }));
    store.run(db.insertInto("subjects").values(people));
    const members = some.map((subject_id) => ({ tenant_id, group_id: "everyone", subject_id }));
    store.run(db.insertInto("group_members").values(members));
  }
}

function addIntegrations(core: Core, tenant_id: string, count: number): void {
  const rows = Array.from({ length: count }, (_, index) => ({
    tenant_id,
    integration_id: `int-${String(index + 1).padStart(3, "0")}`,
    name: `Integration ${index + 1}`,
    status: ["active", "paused", "error"][index % 3] ?? "active",
    updated_at: isoTime(Date.UTC(2026, 0, 1) + index * 3_600_000),
  }));
  core.store.run(core.store.db.insertInto("integrations").values(rows));
}

/** Three releases: one that stands, one with the same configuration, one whose migrations nobody has proven harmless. */
export const seedReleases = {
  first: digestText("reference release 1"),
  second: digestText("reference release 2"),
  migrating: digestText("reference release 3"),
} as const;

function addTargets(core: Core, tenant_id: string): void {
  const { store } = core;
  const { db } = store;
  const at = nowIso(core);
  const config_digest = digestText("reference configuration");
  for (const [name, release_id] of Object.entries(seedReleases)) {
    const migrating = name === "migrating";
    store.run(
      db.insertInto("releases").values({
        ...{ tenant_id, release_id, service: "web", environment: "staging", config_digest, created_at: at },
        artifact_digest: digestText(`artifact of ${name}`),
        source_revision: digestText(`source of ${name}`).slice(7, 47),
        migration_set_id: migrating ? "migrations-2026-04" : null,
        migrations: migrating ? "unproven" : "none",
      }),
    );
  }
  for (const environment of ["staging", "production"]) {
    const deployment_id = core.identify("dep");
    store.run(
      db.insertInto("deployments").values({
        ...{ tenant_id, deployment_id, environment, release_id: seedReleases.first, config_digest },
        artifact_digest: digestText("artifact of first"),
        source_revision: digestText("source of first").slice(7, 47),
        ...{ prior_release_id: null, created_target_generation: 1, migration_set_id: null, actor_id: "installer" },
        ...{ state: "active", rollback_of: null, reason: null, approval_id: null, updated_at: at },
        created_at_ms: core.clock.wallMs(),
      }),
    );
    issueCapability(core, tenant_id, { deployment_id, environment }, "installer", "promotion");
    store.run(
      db.insertInto("targets").values({
        ...{ tenant_id, environment, release_id: seedReleases.first, generation: 1 },
        ...{ active_deployment_id: deployment_id, updated_at: at },
      }),
    );
  }
}

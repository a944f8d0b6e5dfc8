import type { Core } from "../core.ts";
import { requireProject } from "../project.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";
import type { Version } from "../version.ts";

/** `project_id` is one segment that may hold any character; it is decoded once, so a slash in it is data. */
export const projectParams = {
  type: "object",
  required: ["project_id"],
  properties: { project_id: { type: "string", maxLength: 128 } },
} as const;

export function projectRoutes(core: Core, route: MakeRoute, version: Version): readonly ReferenceRoute[] {
  const routes = [builds(core, route), search(core, route), readProject(core, route)];
  return version === "2026-04-01" ? routes : [...routes, exportProject(core, route)];
}

function readProject(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/v1/projects/{project_id}", params: projectParams, body: { kind: "none" } },
    { summary: "A project and its revision", answers: { 200: { description: "The project" } }, scope: "projects:read" },
    ({ command: { params }, who }) => {
      const { project_id, name, state, revision, updated_at, legal_hold } = requireProject(
        core,
        who,
        params.project_id,
      );
      const body = { project_id, name, state, revision: `r${revision}`, legal_hold: legal_hold === 1, updated_at };
      return { status: 200, body, headers: { etag: `"r${revision}"` } };
    },
  );
}

function builds(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/projects/{project_id}/builds", params: projectParams, body: { kind: "none" } },
    {
      summary: "The builds of a project, newest first",
      answers: { 200: { description: "Builds" } },
      scope: "builds:read",
    },
    ({ command: { params }, who }) => {
      const { project_id } = requireProject(core, who, params.project_id);
      const { store } = core;
      const data = store.all(
        store.db
          .selectFrom("builds")
          .select(["build_id", "number", "state", "created_at"])
          .where("tenant_id", "=", who.tenant)
          .where("project_id", "=", project_id)
          .orderBy("number", "desc")
          .limit(100),
      );
      return { status: 200, body: { project_id, data: data.map((build) => ({ ...build })) } };
    },
  );
}

/** Text of any kind in `q`; every `label` must be on the project. */
function search(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "GET",
      path: "/search",
      query: {
        type: "object",
        required: ["q"],
        properties: {
          q: { type: "string", minLength: 1, maxLength: 200 },
          include_archived: { type: "boolean" },
          label: { type: "array", items: { type: "string", minLength: 1, maxLength: 64 }, maxItems: 16 },
        },
      },
      body: { kind: "none" },
    },
    {
      summary: "Search projects by text and labels",
      answers: { 200: { description: "Results" } },
      scope: "projects:read",
    },
    ({ command: { query }, who }) => {
      const { store } = core;
      const { db } = store;
      const wanted = query.q.toLowerCase();
      const labels = new Map<string, Set<string>>();
      for (const { project_id, label } of store.all(
        db.selectFrom("project_labels").select(["project_id", "label"]).where("tenant_id", "=", who.tenant),
      )) {
        labels.set(project_id, (labels.get(project_id) ?? new Set()).add(label));
      }
      const open = new Set(
        store
          .all(
            db
              .selectFrom("project_access")
              .select("project_id")
              .where("tenant_id", "=", who.tenant)
              .where("actor_id", "=", who.actor),
          )
          .map((row) => row.project_id),
      );
      const data = store
        .all(db.selectFrom("projects").selectAll().where("tenant_id", "=", who.tenant).orderBy("project_id"))
        .filter((row) => row.restricted === 0 || open.has(row.project_id))
        .filter((row) => row.state === "active" || (query.include_archived === true && row.state === "archived"))
        .filter((row) => row.project_id.toLowerCase().includes(wanted) || row.name.toLowerCase().includes(wanted))
        .filter((row) => (query.label ?? []).every((label) => labels.get(row.project_id)?.has(label)))
        .slice(0, 100)
        .map(({ project_id, name, state }) => ({
          ...{ project_id, name, state, labels: [...(labels.get(project_id) ?? [])].sort() },
        }));
      return { status: 200, body: { q: query.q, data } };
    },
  );
}

/** Only in the later version: a new route that the old reading credential reaches, and that hands out an address. */
function exportProject(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/v1/projects/{project_id}/export", params: projectParams, body: { kind: "none" } },
    {
      summary: "Everything in a project",
      answers: { 200: { description: "Where to fetch it" } },
      scope: "projects:read",
    },
    ({ command: { params }, who }) => {
      const { project_id } = requireProject(core, who, params.project_id);
      const { store } = core;
      const members = store.all(
        store.db
          .selectFrom("memberships")
          .select(["subject_id", "role"])
          .where("tenant_id", "=", who.tenant)
          .where("project_id", "=", project_id)
          .orderBy("subject_id"),
      );
      const download_url = `${core.origin}/v1/exports/${encodeURIComponent(project_id)}`;
      return { status: 200, body: { project_id, download_url, members: members.map((member) => ({ ...member })) } };
    },
  );
}

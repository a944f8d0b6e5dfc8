import { Denied } from "../../../src/kernel/failure.ts";
import type { Core } from "./core.ts";
import type { Tables } from "./tables.ts";

export interface Asking {
  readonly tenant: string;
  readonly actor: string;
}

/** Another tenant's project does not exist; one of the tenant's own that the actor may not see is forbidden. */
export function requireProject(core: Core, asking: Asking, projectId: string): Tables["projects"] {
  const { store } = core;
  const project = store.one(
    store.db
      .selectFrom("projects")
      .selectAll()
      .where("tenant_id", "=", asking.tenant)
      .where("project_id", "=", projectId),
  );
  if (project === undefined) throw new Denied("not_found", "there is no such project");
  if (project.restricted === 0) return project;
  const access = store.one(
    store.db
      .selectFrom("project_access")
      .select("actor_id")
      .where("tenant_id", "=", asking.tenant)
      .where("project_id", "=", projectId)
      .where("actor_id", "=", asking.actor),
  );
  if (access === undefined) throw new Denied("project_forbidden", "this project is not open to you");
  return project;
}

import { digestJson } from "../../../../src/kernel/canonical-json.ts";
import type { Who } from "../context.ts";
import { type Core, nowIso } from "../core.ts";
import type { Tables } from "../tables.ts";
import { findRelease } from "./promote.ts";

export interface ReleaseInput {
  readonly service: string;
  readonly artifact: string;
  readonly environment: string;
  readonly sourceRevision: string;
}

/** A release is what it is made of, so that recording the same one twice gives the same digest and one row. */
export function recordRelease(core: Core, who: Pick<Who, "tenant">, input: ReleaseInput): Tables["releases"] {
  const config_digest = digestJson({ service: input.service, environment: input.environment });
  const release_id = digestJson({
    service: input.service,
    artifact: input.artifact,
    source_revision: input.sourceRevision,
    config_digest,
  });
  const known = findRelease(core, who.tenant, release_id);
  if (known !== undefined) return known;
  const release: Tables["releases"] = {
    tenant_id: who.tenant,
    release_id,
    service: input.service,
    environment: input.environment,
    artifact_digest: input.artifact,
    source_revision: input.sourceRevision,
    config_digest,
    migration_set_id: null,
    migrations: "none",
    created_at: nowIso(core),
  };
  core.store.run(core.store.db.insertInto("releases").values(release));
  return release;
}

import { type DeploymentTrigger, isTerminalDeployment, stepDeployment } from "../../conventions/rollback/deployment.ts";
import type { ProvenanceRecord } from "../../conventions/rollback/record.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Fault } from "../../kernel/failure.ts";
import { type Core, nowIso } from "../core.ts";
import type { Tables } from "../tables.ts";
import { endCapabilities } from "./capability.ts";

export type DeploymentRow = Tables["deployments"];

export function findDeployment(core: Core, tenant: string, deploymentId: string): DeploymentRow | undefined {
  const { store } = core;
  return store.one(
    store.db
      .selectFrom("deployments")
      .selectAll()
      .where("tenant_id", "=", tenant)
      .where("deployment_id", "=", deploymentId),
  );
}

export function provenanceOf(row: DeploymentRow): ProvenanceRecord {
  const { deployment_id, environment, release_id, artifact_digest, source_revision, config_digest } = row;
  const { prior_release_id, created_target_generation, migration_set_id, actor_id } = row;
  return {
    ...{ deployment_id, environment, release_id, artifact_digest, source_revision, config_digest },
    ...{ prior_release_id, created_target_generation, migration_set_id, actor_id },
  };
}

/** The state now: a rollout that has had its time is finished, whether or not anybody has written it down. */
export function stateNow(core: Core, row: DeploymentRow): DeploymentRow["state"] {
  const done = core.clock.wallMs() >= row.created_at_ms + defaults.referenceRolloutMs;
  return row.state === "running" && done ? "active" : row.state;
}

/** Moves along the table alone. A rollout that is overtaken while it runs is finished first. */
export function moveDeployment(core: Core, row: DeploymentRow, trigger: DeploymentTrigger): void {
  const from = row.state === "running" && trigger !== "rollout_failed" ? "active" : row.state;
  const to = stepDeployment(from, trigger);
  if (to === undefined) throw new Fault(`a deployment that is ${from} cannot take ${trigger}`);
  const { store } = core;
  store.run(
    store.db
      .updateTable("deployments")
      .set({ state: to, updated_at: nowIso(core) })
      .where("tenant_id", "=", row.tenant_id)
      .where("deployment_id", "=", row.deployment_id),
  );
  if (isTerminalDeployment(to)) endCapabilities(core, row.tenant_id, row.deployment_id);
}

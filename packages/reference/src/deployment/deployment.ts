import {
  type DeploymentTrigger,
  isTerminalDeployment,
  stepDeployment,
} from "../../../../src/conventions/rollback/deployment.ts";
import type { ProvenanceRecord } from "../../../../src/conventions/rollback/record.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Fault } from "../../../../src/kernel/failure.ts";
import { type Core, nowIso } from "../core.ts";
import { prepared } from "../prepared.ts";
import type { Tables } from "../tables.ts";
import { endCapabilities } from "./capability.ts";

export type DeploymentRow = Tables["deployments"];

const deploymentOf = prepared((db, p: { readonly tenant: string; readonly deploymentId: string }) =>
  db
    .selectFrom("deployments")
    .selectAll()
    .where("tenant_id", "=", p.tenant)
    .where("deployment_id", "=", p.deploymentId),
);

const setState = prepared(
  (db, p: { tenant: string; deploymentId: string; state: DeploymentRow["state"]; updated_at: string }) =>
    db
      .updateTable("deployments")
      .set({ state: p.state, updated_at: p.updated_at })
      .where("tenant_id", "=", p.tenant)
      .where("deployment_id", "=", p.deploymentId),
);

export function findDeployment(core: Core, tenant: string, deploymentId: string): DeploymentRow | undefined {
  return core.store.one(deploymentOf({ tenant, deploymentId }));
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
  const { tenant_id: tenant, deployment_id: deploymentId } = row;
  core.store.run(setState({ tenant, deploymentId, state: to, updated_at: nowIso(core) }));
  if (isTerminalDeployment(to)) endCapabilities(core, tenant, deploymentId);
}

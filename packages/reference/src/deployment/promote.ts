import { isTerminalDeployment } from "../../../../src/conventions/rollback/deployment.ts";
import type { TargetRecord } from "../../../../src/conventions/rollback/record.ts";
import { Denied, Fault } from "../../../../src/kernel/failure.ts";
import { type Core, nowIso } from "../core.ts";
import { recordChange } from "../events.ts";
import { insertRow, prepared } from "../prepared.ts";
import type { Tables } from "../tables.ts";
import { type CapabilityRecord, issueCapability } from "./capability.ts";
import { type DeploymentRow, findDeployment, moveDeployment } from "./deployment.ts";
import { moveTarget } from "./target.ts";

export interface Promotion {
  readonly tenant: string;
  readonly actor: string;
  readonly releaseId: string;
  /** Set for a rollback: which deployment it reverts, and who wanted it. */
  readonly reverts?: { readonly deploymentId: string; readonly reason: string; readonly approvalId: string };
}

export interface Promoted {
  readonly deployment: DeploymentRow;
  readonly generation: number;
  readonly capability: CapabilityRecord;
}

/**
 * Puts a release on a target: provenance, target and the deployment before it change together or not at all. Must run
 * inside the transaction that read `target`. The prior release is chosen here and never again.
 */
export function promoteRelease(core: Core, target: TargetRecord, promotion: Promotion): Promoted {
  const { tenant, actor, reverts } = promotion;
  const { environment } = target;
  const release = findRelease(core, tenant, promotion.releaseId);
  if (release === undefined) throw new Denied("release_unknown", "no release has this digest");
  const updated_at = nowIso(core);
  const deployment: DeploymentRow = {
    tenant_id: tenant,
    deployment_id: core.identify("dep"),
    environment,
    release_id: release.release_id,
    artifact_digest: release.artifact_digest,
    source_revision: release.source_revision,
    config_digest: release.config_digest,
    prior_release_id: target.release_id,
    created_target_generation: target.generation + 1,
    migration_set_id: release.migration_set_id,
    actor_id: actor,
    state: "running",
    rollback_of: reverts?.deploymentId ?? null,
    reason: reverts?.reason ?? null,
    approval_id: reverts?.approvalId ?? null,
    created_at_ms: core.clock.wallMs(),
    updated_at,
  };
  const to = { release_id: release.release_id, active_deployment_id: deployment.deployment_id, updated_at };
  if (!moveTarget(core, tenant, target, to)) throw new Fault("the target moved inside the transaction that read it");
  const before =
    target.active_deployment_id === null ? undefined : findDeployment(core, tenant, target.active_deployment_id);
  // One that failed stays failed, although its release was still on the target.
  if (before !== undefined && !isTerminalDeployment(before.state))
    moveDeployment(core, before, reverts ? "rollback_accepted" : "newer_promotion");
  core.store.run(insertRow("deployments", deployment));
  const capability = issueCapability(core, tenant, deployment, actor, "promotion");
  const generation = target.generation + 1;
  recordChange(
    core,
    {
      tenant,
      actor,
      type: reverts ? "target.rolled_back" : "target.promoted",
      resource: `environments/${environment}`,
    },
    { deployment_id: deployment.deployment_id, release_id: release.release_id, target_generation: generation },
  );
  return { deployment, generation, capability };
}

const releaseOf = prepared((db, p: { readonly tenant: string; readonly releaseId: string }) =>
  db.selectFrom("releases").selectAll().where("tenant_id", "=", p.tenant).where("release_id", "=", p.releaseId),
);

export function findRelease(core: Core, tenant: string, releaseId: string): Tables["releases"] | undefined {
  return core.store.one(releaseOf({ tenant, releaseId }));
}

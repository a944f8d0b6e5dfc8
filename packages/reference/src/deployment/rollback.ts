import { decideRollback } from "../../../../src/conventions/rollback/decide.ts";
import type { RollbackRequest, RollbackResult } from "../../../../src/conventions/rollback/record.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Who } from "../context.ts";
import type { Core } from "../core.ts";
import { authorityOver, requireLive } from "./capability.ts";
import { findDeployment, provenanceOf } from "./deployment.ts";
import { promoteRelease } from "./promote.ts";
import { readTarget, requireMatch } from "./target.ts";

/**
 * One transaction from the first read to the last write. Somebody without any authority over the deployment learns
 * nothing of the target; somebody with authority that has gone stale learns what is there now, and no way around it.
 */
export function rollBack(core: Core, who: Who, environment: string, request: RollbackRequest): RollbackResult {
  return core.store.write(() => {
    const target = readTarget(core, who.tenant, environment);
    const origin = findDeployment(core, who.tenant, request.origin_deployment_id);
    if (origin === undefined || origin.environment !== environment) {
      throw new Denied("not_found", "this environment has no such deployment");
    }
    const authority = authorityOver(core, who.tenant, origin, who.actor);
    if (authority === "none") requireLive(authority);
    requireMatch(who, target, false);
    const decision = decideRollback(provenanceOf(origin), target, request);
    if (decision.kind === "stale") {
      throw new Denied("stale_rollback", `the target does not match: ${decision.mismatches.join(", ")}`, {
        extra: { ...decision.body, mismatches: decision.mismatches },
      });
    }
    requireLive(authority);
    const { deployment, generation } = promoteRelease(core, target, {
      tenant: who.tenant,
      actor: who.actor,
      releaseId: decision.release_id,
      reverts: { deploymentId: origin.deployment_id, reason: request.reason, approvalId: request.approval_id },
    });
    return {
      rollback_deployment_id: deployment.deployment_id,
      reverted_deployment_id: origin.deployment_id,
      previous_release_id: origin.release_id,
      current_release_id: deployment.release_id,
      target_generation: generation,
      status: "running",
    };
  });
}

import type { ProvenanceRecord, RollbackRequest, StaleRollback, TargetRecord } from "./record.ts";

/** Which part of the request and the present state do not meet. */
export type RollbackMismatch = "deployment" | "ownership" | "generation" | "release" | "restore";

export type RollbackDecision =
  | { readonly kind: "accepted"; readonly release_id: string; readonly generation: number }
  | { readonly kind: "stale"; readonly mismatches: readonly RollbackMismatch[]; readonly body: StaleRollback };

/**
 * Whether this rollback may happen now. The deployment must own the current generation by the stored link, never by the
 * order of timestamps; everything expected must be what is there; and what is restored must be what was stored.
 */
export function decideRollback(
  provenance: ProvenanceRecord,
  target: TargetRecord,
  request: RollbackRequest,
): RollbackDecision {
  const mismatches: RollbackMismatch[] = [];
  if (request.origin_deployment_id !== provenance.deployment_id || provenance.environment !== target.environment) {
    mismatches.push("deployment");
  }
  if (
    target.active_deployment_id !== provenance.deployment_id ||
    target.generation !== provenance.created_target_generation
  ) {
    mismatches.push("ownership");
  }
  if (request.expected_target_generation !== target.generation) mismatches.push("generation");
  if (request.expected_current_release_id !== target.release_id) mismatches.push("release");
  if (provenance.prior_release_id === null || request.restore_release_id !== provenance.prior_release_id) {
    mismatches.push("restore");
  }
  if (mismatches.length > 0) return { kind: "stale", mismatches, body: staleBody(target, request) };
  return { kind: "accepted", release_id: request.restore_release_id, generation: target.generation + 1 };
}

function staleBody(target: TargetRecord, request: RollbackRequest): StaleRollback {
  return {
    error: "stale_rollback",
    origin_deployment_id: request.origin_deployment_id,
    expected_target_generation: request.expected_target_generation,
    observed_target_generation: target.generation,
    observed_release_id: target.release_id,
  };
}

import type { ProvenanceRecord } from "./record.ts";

export type Reversibility = "reversible_at_application_level" | "reversible_at_traffic_level" | "needing_repair";

/** What is proven about a deployment beside its provenance. Unknown is not a proof. */
export interface ReversibilityEvidence {
  /** The configuration digest of the release that would come back; null when it is not on record. */
  readonly priorConfigDigest: string | null;
  /** Whether the data that the migrations left can be read by the prior release. */
  readonly migrations: "none" | "backward_compatible" | "unproven";
}

/**
 * How far a deployment can be undone, never claimed beyond its proof: the application level needs the same configuration
 * and untouched data, the traffic level data that the prior release can still read. Everything else needs repair.
 */
export function classifyReversibility(provenance: ProvenanceRecord, evidence: ReversibilityEvidence): Reversibility {
  if (provenance.prior_release_id === null || evidence.priorConfigDigest === null) return "needing_repair";
  const untouched = provenance.migration_set_id === null && evidence.migrations === "none";
  if (untouched && evidence.priorConfigDigest === provenance.config_digest) return "reversible_at_application_level";
  if (untouched || evidence.migrations === "backward_compatible") return "reversible_at_traffic_level";
  return "needing_repair";
}

/**
 * Ownership-bound rollback: what a promotion leaves behind, what a target is, and what a rollback asks and answers.
 * All records carry the specification's field names; the decisions over them stand in the files beside this one.
 */

/** Written when a promotion is accepted, and never changed. `prior_release_id` is chosen then, not recomputed later. */
export type ProvenanceRecord = {
  readonly deployment_id: string;
  readonly environment: string;
  readonly release_id: string;
  readonly artifact_digest: string;
  readonly source_revision: string;
  readonly config_digest: string;
  /** Null for the first release of an environment: there is nothing to go back to. */
  readonly prior_release_id: string | null;
  readonly created_target_generation: number;
  /** Null when the release carries no migrations. */
  readonly migration_set_id: string | null;
  readonly actor_id: string;
};

/** The state of one environment. `generation` changes on every accepted transition. */
export type TargetRecord = {
  readonly environment: string;
  readonly release_id: string | null;
  readonly generation: number;
  readonly active_deployment_id: string | null;
  readonly updated_at: string;
};

export type RollbackRequest = {
  readonly origin_deployment_id: string;
  readonly expected_current_release_id: string;
  readonly expected_target_generation: number;
  readonly restore_release_id: string;
  readonly reason: string;
  readonly approval_id: string;
};

export type RollbackResult = {
  readonly rollback_deployment_id: string;
  readonly reverted_deployment_id: string;
  readonly previous_release_id: string;
  readonly current_release_id: string;
  readonly target_generation: number;
  readonly status: "running";
};

/** The body of a 409: what was expected, what was observed, and no advice on how to get past it. */
export type StaleRollback = {
  readonly error: "stale_rollback";
  readonly origin_deployment_id: string;
  readonly expected_target_generation: number | null;
  /** Null where nobody read it: what was not observed is not made up. */
  readonly observed_target_generation: number | null;
  readonly observed_release_id: string | null;
};

/** A release is named by the digest of what it is. A tag can be moved and is none. */
export const RELEASE_ID_PATTERN = "^sha256:[0-9a-f]{64}$";

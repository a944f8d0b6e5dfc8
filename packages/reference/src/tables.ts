import type { Generated } from "kysely";
import type { DeploymentState } from "../../../src/conventions/rollback/deployment.ts";
import type { ReversibilityEvidence } from "../../../src/conventions/rollback/reversibility.ts";
import type { JobState } from "./operation/advance.ts";
import type { Role } from "./version.ts";

/** The provider's state, a row type a table. Every row of a tenant carries it, and every query names it. */
export interface Tables {
  settings: { name: string; value: string };
  projects: {
    tenant_id: string;
    project_id: string;
    name: string;
    state: ProjectState;
    legal_hold: number;
    /** 1: only the actors in project_access may see it. */
    restricted: number;
    /** Counts every change of its memberships. */
    revision: number;
    updated_at: string;
  };
  project_access: { tenant_id: string; project_id: string; actor_id: string };
  project_labels: { tenant_id: string; project_id: string; label: string };
  subjects: { tenant_id: string; subject_id: string; kind: "user" | "group"; email: string | null; revision: number };
  group_members: { tenant_id: string; group_id: string; subject_id: string };
  memberships: { tenant_id: string; project_id: string; subject_id: string; role: Role; revision: number };
  /** What a membership of a group gives to each of its members. */
  effective_access: { tenant_id: string; project_id: string; subject_id: string; role: string; via: string };
  targets: {
    tenant_id: string;
    environment: string;
    release_id: string | null;
    generation: number;
    active_deployment_id: string | null;
    updated_at: string;
  };
  releases: {
    tenant_id: string;
    release_id: string;
    service: string;
    environment: string;
    artifact_digest: string;
    source_revision: string;
    config_digest: string;
    migration_set_id: string | null;
    migrations: ReversibilityEvidence["migrations"];
    created_at: string;
  };
  deployments: {
    tenant_id: string;
    deployment_id: string;
    environment: string;
    release_id: string;
    artifact_digest: string;
    source_revision: string;
    config_digest: string;
    prior_release_id: string | null;
    created_target_generation: number;
    migration_set_id: string | null;
    actor_id: string;
    state: DeploymentState;
    rollback_of: string | null;
    reason: string | null;
    approval_id: string | null;
    created_at_ms: number;
    updated_at: string;
  };
  capabilities: {
    tenant_id: string;
    capability_id: string;
    deployment_id: string;
    environment: string;
    route: string;
    actor_id: string;
    issued_by: string;
    expires_at_ms: number;
    revoked_at: string | null;
  };
  revoked_tokens: { token_id: string; revoked_at: string };
  /** Of signed requests that were taken, while their signature would still be good. */
  signed_nonces: { key_id: string; nonce: string; taken_at_s: number };
  idempotency: {
    tenant_id: string;
    actor_id: string;
    route: string;
    token: string;
    payload_digest: string;
    /** Null in a tombstone. */
    answer: string | null;
    settled_at_ms: number;
  };
  plan_executions: {
    plan_id: string;
    tenant_id: string;
    actor_id: string;
    equivalence: string;
    executed_at: string;
  };
  operations: {
    tenant_id: string;
    operation_id: string;
    actor_id: string;
    kind: "report" | "deployment" | "release";
    /** Reports alone are jobs with an identifier of their own. */
    job_id: string | null;
    request: string;
    state: JobState;
    /** How it ends when nobody cancels it. */
    fails: number;
    started_at_ms: number;
    duration_ms: number;
    cancel_at_ms: number | null;
    /** 1: the cancellation comes too late whatever the progress. */
    cancel_ignored: number;
    result: string | null;
    created_at: string;
    updated_at: string;
  };
  client_references: { tenant_id: string; actor_id: string; client_operation_id: string; operation_id: string };
  artifacts: {
    tenant_id: string;
    artifact_digest: string;
    size: number;
    name: string;
    manifest: string;
    actor_id: string;
    created_at: string;
  };
  builds: {
    tenant_id: string;
    project_id: string;
    build_id: string;
    number: number;
    state: string;
    created_at: string;
  };
  integrations: { tenant_id: string; integration_id: string; name: string; status: string; updated_at: string };
  events: {
    seq: Generated<number>;
    tenant_id: string;
    event_id: string;
    type: string;
    resource: string;
    actor_id: string;
    at: string;
  };
  /** What is to be told outside once a change is committed. A row leaves only when it was delivered or given up. */
  outbox: {
    seq: Generated<number>;
    tenant_id: string;
    event_id: string;
    kind: "webhook" | "mail";
    payload: string;
    attempts: number;
    due_at_ms: number;
  };
}

export type ProjectState = "active" | "archived" | "inactive";

import type { ProvenanceRecord } from "../../conventions/rollback/record.ts";
import type { Reversibility } from "../../conventions/rollback/reversibility.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { StateRow } from "../ports.ts";

/** A deployment that was made through this gateway, with the link that a rollback is built from. */
export interface Deployment {
  readonly id: string;
  readonly runId: string;
  /** Whose it is: the caller that promoted it, or its wrapped run. */
  readonly party: string;
  readonly pack: string;
  /** The action that made it. */
  readonly action: string;
  readonly provenance: ProvenanceRecord;
  readonly reversibility: Reversibility;
  readonly madeAt: string;
  /** Kept sealed, and only while the deployment can still be undone. */
  capability: JsonValue;
  /** `stale`: the provider said that its generation is not current any more. */
  state: "current" | "superseded" | "rolled_back" | "stale";
}

export interface DeploymentBook {
  put(deployment: Deployment): void;
  find(pack: string, deploymentId: string): Deployment | undefined;
  /** The one whose generation is the newest that this gateway knows of. */
  newest(pack: string, environment: string): Deployment | undefined;
}

export function createDeploymentBook(): DeploymentBook {
  const deployments = new Map<string, Deployment>();
  return {
    put: (deployment) => void deployments.set(deployment.id, deployment),
    find: (pack, deploymentId) => deployments.get(deploymentKey(pack, deploymentId)),
    newest(pack, environment) {
      let newest: Deployment | undefined;
      for (const one of deployments.values()) {
        if (one.pack !== pack || one.provenance.environment !== environment) continue;
        const { created_target_generation } = one.provenance;
        if (created_target_generation > (newest?.provenance.created_target_generation ?? -1)) newest = one;
      }
      return newest;
    },
  };
}

export function deploymentKey(pack: string, deploymentId: string): string {
  return `${pack}/${deploymentId}`;
}

/** A terminal state ends every authority over it. */
export function endDeployment(deployment: Deployment, state: Exclude<Deployment["state"], "current">): StateRow {
  deployment.state = state;
  deployment.capability = null;
  return deploymentRow(deployment);
}

export function deploymentRow(deployment: Deployment): StateRow {
  const { id, runId, state, ...body } = deployment;
  return { table: "deployments", id, runId, state, body: body as unknown as JsonObject };
}

export function readDeployment(row: StateRow): Deployment {
  const body = row.body as unknown as Omit<Deployment, "id" | "runId" | "state">;
  return { ...body, id: row.id, runId: row.runId, state: row.state as Deployment["state"] };
}

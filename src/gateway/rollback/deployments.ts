import type { ProvenanceRecord } from "../../conventions/rollback/record.ts";
import type { Reversibility } from "../../conventions/rollback/reversibility.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { StateRow } from "../ports.ts";
import type { Ledger } from "../record/ledger.ts";
import { capabilityText, type HeldCapability, readCapability, wipeCapability } from "./capability.ts";

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
  /** What it was made with; rows from before this was kept have none. */
  readonly credential?: string | null;
  /** Kept only while the deployment can still be undone. */
  capability: HeldCapability | null;
  /** `stale`: the provider said that its generation is not current any more. */
  state: "current" | "superseded" | "rolled_back" | "stale" | "taken_over";
  /** The gateway that can undo it since it took this one's work over. */
  takenBy?: string;
}

/** The newest deployment of each environment, in memory and bounded; any other is looked up in the store by its id. */
export interface DeploymentBook {
  put(deployment: Deployment): void;
  find(pack: string, deploymentId: string): Deployment | undefined;
  /** The one whose generation is the newest that this gateway knows of. */
  newest(pack: string, environment: string): Deployment | undefined;
  /** Copies of what the provider entrusted to us about this pack's deployments, for one send. */
  lendSecrets(pack: string): { readonly secrets: readonly Secret[]; release(): void };
  readonly size: number;
}

export function createDeploymentBook(find: (id: string) => ReturnType<Ledger["find"]>): DeploymentBook {
  const newest = new Map<string, Deployment>();

  function drop(place: string): void {
    const gone = newest.get(place);
    newest.delete(place);
    // Its row has it, while it can still be undone.
    wipeCapability(gone?.capability ?? null);
  }

  return {
    put(deployment) {
      const place = `${deployment.pack} ${deployment.provenance.environment}`;
      const before = newest.get(place);
      if (before !== undefined && generationOf(before) > generationOf(deployment)) return;
      if (before !== undefined && before !== deployment) drop(place);
      newest.delete(place);
      newest.set(place, deployment);
      for (const oldest of newest.keys()) {
        if (newest.size <= defaults.deploymentsHeld) break;
        drop(oldest);
      }
    },
    find(pack, deploymentId) {
      const id = deploymentKey(pack, deploymentId);
      for (const held of newest.values()) if (held.id === id) return held;
      const row = find(id);
      if (row !== null && "tampered" in row) {
        throw new Denied(
          "state_tampered",
          "The stored record of this deployment was changed behind the gateway's back.",
        );
      }
      return row === null ? undefined : readDeployment(row);
    },
    newest: (pack, environment) => newest.get(`${pack} ${environment}`),
    lendSecrets(pack) {
      const held = [...newest.values()].flatMap((one) => (one.pack === pack ? (one.capability?.secrets ?? []) : []));
      const secrets = held.map((secret) => secret.copy());
      return {
        secrets,
        release: () => {
          for (const secret of secrets) secret.wipe();
        },
      };
    },
    get size() {
      return newest.size;
    },
  };
}

function generationOf({ provenance }: Deployment): number {
  return provenance.created_target_generation;
}

export function deploymentKey(pack: string, deploymentId: string): string {
  return `${pack}/${deploymentId}`;
}

/** The newest of its environment is what can be undone; whatever stood there before cannot any more, and nothing late replaces it. */
export function installDeployment(book: DeploymentBook, deployment: Deployment): readonly StateRow[] {
  const before = book.newest(deployment.pack, deployment.provenance.environment);
  const other = before === undefined || before.id === deployment.id ? null : before;
  // Also where that one was undone since: what stood there before it does not own the generation that came of that.
  if (other !== null && generationOf(other) > generationOf(deployment))
    return [endDeployment(deployment, "superseded")];
  if (other?.state !== "current") {
    book.put(deployment);
    return [deploymentRow(deployment)];
  }
  const ended = endDeployment(other, "superseded");
  book.put(deployment);
  return [ended, deploymentRow(deployment)];
}

/** A terminal state ends every authority over it. */
export function endDeployment(
  deployment: Deployment,
  state: Exclude<Deployment["state"], "current" | "taken_over">,
): StateRow {
  deployment.state = state;
  wipeCapability(deployment.capability);
  deployment.capability = null;
  return deploymentRow(deployment);
}

export function deploymentRow(deployment: Deployment): StateRow {
  const { id, runId, state, capability, ...rest } = deployment;
  const body = { ...rest, capability: capabilityText(capability) };
  return { table: "deployments", id, runId, state, body: body as unknown as JsonObject };
}

export function readDeployment(row: StateRow): Deployment {
  const body = row.body as unknown as Omit<Deployment, "id" | "runId" | "state" | "capability">;
  const capability = readCapability(row.body["capability"], body.provenance);
  return { ...body, capability, id: row.id, runId: row.runId, state: row.state as Deployment["state"] };
}

import type { Pack } from "../../conventions/action/pack.ts";
import { readPromotion } from "../../conventions/rollback/read-provenance.ts";
import type { ProvenanceRecord } from "../../conventions/rollback/record.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Definition } from "../outbound/outbound.ts";
import type { StateRow } from "../ports.ts";
import { holdCapability } from "./capability.ts";
import { type Deployment, deploymentKey, installDeployment } from "./deployments.ts";
import type { RollbackNeeds } from "./needs.ts";

const undoable = new WeakMap<Pack, ReadonlySet<string>>();

/** Whether some rollback of the pack undoes what this action makes. */
export function isUndoable({ pack, action }: Definition): boolean {
  const known = undoable.get(pack) ?? new Set([...pack.actions.values()].flatMap(({ rollback }) => rollback?.of ?? []));
  undoable.set(pack, known);
  return known.has(action.name);
}

/** Whose promotion it is, and what was asked for. */
export interface Promoted {
  readonly runId: string;
  readonly party: string;
  readonly intent: JsonObject;
}

/**
 * Keeps the provenance that an answer of the provider proves: of the promotion itself, or of whatever proved it later. A
 * promotion whose answer was lost can then be undone like any other.
 */
export function keepPromotion(
  core: Pick<RollbackNeeds, "deployments" | "ports">,
  { pack, action }: Definition,
  { intent, ...made }: Promoted,
  answer: JsonValue,
): readonly StateRow[] {
  const promotion = readPromotion(answer);
  if (promotion === null) return [];
  const { provenance, reversibility, capability } = promotion;
  // An answer about another place is none to what was asked for.
  if ((intent["environment"] ?? provenance.environment) !== provenance.environment) return [];
  if (isOnRecord(core, pack.name, provenance)) return [];
  const deployment: Deployment = {
    id: deploymentKey(pack.name, provenance.deployment_id),
    ...made,
    pack: pack.name,
    action: action.qualifiedName,
    provenance,
    reversibility,
    madeAt: isoTime(core.ports.clock.wallMs()),
    credential: pack.provider?.credential ?? null,
    capability: holdCapability(capability, provenance),
    state: "current",
  };
  return installDeployment(core.deployments, deployment);
}

/** Nobody comes to own what is on record because an answer names it once more. What was changed behind our back is nobody's. */
function isOnRecord(
  { deployments }: Pick<RollbackNeeds, "deployments">,
  pack: string,
  { deployment_id, created_target_generation }: ProvenanceRecord,
): boolean {
  try {
    const known = deployments.find(pack, deployment_id);
    return known !== undefined && known.provenance.created_target_generation >= created_target_generation;
  } catch (error) {
    if (error instanceof Denied) return true;
    throw error;
  }
}

import { type ClaimKey, claimOfIntent, type Holder } from "../conventions/outcome/claim.ts";
import { Denied } from "../kernel/failure.ts";
import { CLAIM, claimRow, keyOf, readHolders } from "./attempt/claim.ts";
import type { Core } from "./core.ts";
import type { Operation } from "./operation/operations.ts";
import { bindDefinition } from "./outbound/admit.ts";
import { type Definition, reachOf } from "./outbound/outbound.ts";
import type { StateRow, StateStore } from "./ports.ts";
import { deploymentKey } from "./rollback/deployments.ts";

/**
 * Operations that began before there were claims (0.1) get theirs at a start, by what the same call would be today, so
 * that it is answered with them instead of being sent. One whose pack is not trusted now waits for the start after it is.
 */
export function claimOld(
  core: Pick<Core, "packs">,
  store: StateStore,
  operations: readonly Operation[],
  written: readonly StateRow[],
): readonly StateRow[] {
  const rows = new Map<string, StateRow>();
  for (const operation of operations) {
    const key = operation.claim === null ? keyFor(core, operation) : null;
    if (key === null) continue;
    const { id } = claimRow(key, []);
    const stored = store.find("notes", id);
    const row = rows.get(id) ?? written.find((one) => one.table === "notes" && one.id === id) ?? stored;
    if (row !== null && "tampered" in row) continue;
    const holders = row === null || row.state !== CLAIM ? [] : readHolders(row);
    if (holders.some(({ operation_id }) => operation_id === operation.id)) continue;
    rows.set(id, claimRow(key, [holderOf(operation), ...holders]));
  }
  return [...rows.values()];
}

function holderOf({ id, callId, purse, action, callerKey, createdAt, attemptId }: Operation): Holder {
  return {
    call_id: callId,
    run_id: purse.id,
    action,
    started_by: callerKey,
    at: createdAt,
    under_way: false,
    operation_id: id,
    attempt_id: attemptId ?? "",
    evidence: {},
  };
}

function keyFor(core: Pick<Core, "packs">, operation: Operation): ClaimKey | null {
  const definition = core.packs().find(operation.action);
  if (definition === null) return null;
  try {
    return claimFor(core, definition, operation);
  } catch (error) {
    // It cannot be called like this any more, so that the same call cannot be made either.
    if (error instanceof Denied) return null;
    throw error;
  }
}

function claimFor(core: Pick<Core, "packs">, definition: Definition, { input }: Operation): ClaimKey | null {
  const { pack, action } = definition;
  const named = { action: action.qualifiedName, credential: reachOf(definition).credential };
  if (action.rollback !== null) {
    return claimOfIntent(named, { undoes: deploymentKey(pack.name, String(input["origin_deployment_id"])) });
  }
  if (action.needs.plan === null) return keyOf(bindDefinition(definition, input), null);
  const preview = core.packs().find(`${pack.name}.${action.needs.plan}`);
  if (preview === null) return null;
  return claimOfIntent(named, { previewed: bindDefinition(preview, input).requestDigest });
}

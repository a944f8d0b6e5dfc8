import type { NewEvent } from "../../audit/event.ts";
import type { Holder } from "../../conventions/outcome/claim.ts";
import { CLAIM, claimRow, keyOfRow, readHolders } from "../attempt/claim.ts";
import type { StateRow, StateStore } from "../ports.ts";
import type { OperationNeeds } from "./needs.ts";
import { operationRow } from "./operation-row.ts";
import type { Operation } from "./operations.ts";
import { adoptAttempt } from "./recover-operations.ts";

/**
 * After a start nothing is on its way any more: whatever was, holds its claim by an operation from now on. A call that
 * stopped between two sends (a redirect, a retry) has no open attempt; its claim alone tells that it may have happened.
 */
export function recoverClaims(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  store: StateStore,
  own: (row: StateRow) => boolean,
  adopted: ReadonlyMap<string, string>,
): {
  readonly operations: readonly Operation[];
  readonly events: readonly NewEvent[];
  readonly rows: readonly StateRow[];
} {
  const operations: Operation[] = [];
  const events: NewEvent[] = [];
  const rows: StateRow[] = [];

  function linked(holder: Holder): Holder {
    const known = holder.operation_id ?? adopted.get(holder.call_id) ?? null;
    if (known !== null) return { ...holder, under_way: false, operation_id: known };
    const { attempt_id: id, run_id: runId, evidence: body } = holder;
    const found = adoptAttempt(core, { id, runId, body });
    if (found === null) return holder;
    operations.push(found.operation);
    events.push(...found.events);
    rows.push(operationRow(core, found.operation));
    return { ...holder, under_way: false, operation_id: found.operation.id };
  }

  for (const row of store.load("notes", CLAIM)) {
    if ("tampered" in row) {
      events.push({ ...core.envelope("state_tampered"), table: "notes", row: row.tampered });
      continue;
    }
    const holders = readHolders(row);
    const kept = holders.filter((holder) => !isForgotten(store, holder));
    const open = own(row) ? kept.map((holder) => (holder.under_way ? linked(holder) : holder)) : kept;
    if (open.length === holders.length && open.every((holder, at) => holder === holders[at])) continue;
    rows.push(claimRow(keyOfRow(row), open));
  }
  return { operations, events, rows };
}

/** What failed may be resumed, and then holds again; every other end is one. */
function isForgotten(store: StateStore, { under_way, operation_id }: Holder): boolean {
  if (under_way || operation_id === null) return false;
  const row = store.find("operations", operation_id);
  return row === null || (!("tampered" in row) && (row.state === "succeeded" || row.state === "cancelled"));
}

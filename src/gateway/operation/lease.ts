import { type Lease, mayLease, TAKEN_AWAY } from "../../conventions/operation/record.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { now } from "../core.ts";
import type { OperationNeeds } from "./needs.ts";
import { momentIn } from "./operation.ts";
import { operationRow, readOperation, termOf } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { stopCaring } from "./read-operation.ts";

/** Long enough for one read and everything around it. */
const LEASE_MS = defaults.leaseMs + defaults.callTimeoutMs;

export const isTakenAway = ({ lease }: Pick<Operation, "lease">): boolean => lease?.expires_at === TAKEN_AWAY;

/** A lease of this process. Only a change of hands begins another term: what this process has on its way still counts. */
export function nextLease(core: Pick<OperationNeeds, "ports" | "worker">, before: Lease | null): Lease {
  const { bootMs, bootId, wallMs } = now(core);
  return {
    owner: core.worker,
    expires_at: isoTime(wallMs + LEASE_MS),
    expires_boot_ms: bootMs + LEASE_MS,
    boot_id: bootId,
    term: before?.owner === core.worker ? before.term : (before?.term ?? 0) + 1,
  };
}

/**
 * Takes or renews the lease in one transaction of the store. Where another process holds it, this one waits until it runs
 * out; where another has moved the operation on, its row is the truth. Every row that is written later names the term
 * that was taken here, so that a worker which slept through its lease writes nothing.
 */
export async function takeLease(core: OperationNeeds, operation: Operation): Promise<boolean> {
  let taken = false;
  let holder: Lease | null = null;
  const row = await core.ledger.change("lease.taken", "operations", operation.id, (stored) => {
    const theirs = readOperation(core, stored);
    const seenMs = seenFor(core, operation, theirs.lease);
    const away = isTakenAway(theirs);
    if (away || !mayLease(theirs.lease, core.worker, { ...now(core), seenMs, lastsMs: LEASE_MS })) {
      holder = theirs.lease;
      return null;
    }
    taken = true;
    // Ours unless somebody went on from where we stopped.
    const latest = termOf(stored) === (operation.lease?.term ?? 0) ? operation : theirs;
    learn(operation, { kind: "stored_by_another", theirs: latest, lease: nextLease(core, theirs.lease) });
    return operationRow(core, operation);
  });
  if (row === null) {
    learn(operation, { kind: "look_again", at: null });
    return false;
  }
  if ("tampered" in row) {
    await core.ledger.record("operation.stopped", [
      { ...core.envelope("state_tampered"), table: "operations", row: operation.id },
    ]);
    stopCaring(operation, "state_tampered", "its row was changed behind the gateway's back");
    return false;
  }
  if (!taken) waitFor(core, operation, holder);
  return taken;
}

/** Leases of other boots, and since when by this boot's time they stand as they do. */
const seen = new WeakMap<Operation, { readonly lease: string; readonly atMs: number }>();

function seenFor(core: Pick<OperationNeeds, "ports">, operation: Operation, lease: Lease | null): number {
  const text = lease === null ? "" : `${lease.owner} ${lease.term} ${lease.expires_at}`;
  const { bootMs } = now(core);
  const known = seen.get(operation);
  if (known?.lease === text) return bootMs - known.atMs;
  seen.set(operation, { lease: text, atMs: bootMs });
  return 0;
}

/** Whoever acts on it acts on what is stored, and alone. */
export async function requireLease(core: OperationNeeds, operation: Operation): Promise<void> {
  if (await takeLease(core, operation)) return;
  const { problem } = operation;
  if (problem?.code === "state_tampered") throw new Denied(problem.code, problem.detail);
  throw new Denied("operation_taken_over", "Another gateway on this store looks after this operation at the moment.");
}

/** Goes by what the other one wrote, and looks again when its lease has run out. */
export function yieldTo(core: Pick<OperationNeeds, "ledger" | "packs" | "ports">, operation: Operation): void {
  const row = core.ledger.find("operations", operation.id);
  if (row === null || "tampered" in row) return;
  const theirs = readOperation(core, row);
  learn(operation, { kind: "stored_by_another", theirs, lease: theirs.lease });
  waitFor(core, operation, theirs.lease);
}

/** Looks again when the lease has run out. */
export function waitFor(core: Pick<OperationNeeds, "ports">, operation: Operation, holder: Lease | null): void {
  if (isTakenAway({ lease: holder })) {
    learn(operation, { kind: "look_again", at: null });
    return;
  }
  const { bootMs, bootId } = now(core);
  const leftMs =
    holder === null
      ? 0
      : holder.boot_id === bootId
        ? holder.expires_boot_ms - bootMs
        : LEASE_MS - seenFor(core, operation, holder);
  learn(operation, { kind: "look_again", at: momentIn(core, Math.min(Math.max(1_000, leftMs), 2 * LEASE_MS)) });
}

import type { RunBudget } from "../../conventions/budget/budget.ts";
import {
  evolve,
  type Moment,
  type OperationEffect,
  type OperationEvidence,
  type OperationStanding,
} from "../../conventions/operation/evolve.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId, OperationId, RunId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import type { PlanFill } from "../outbound/outbound.ts";

/**
 * Work whose end is not known yet: a job at the provider, or a write that nobody saw the answer of. It outlives its
 * session and this process; until it is settled it keeps its token and everything that finding out needs.
 */
export interface Operation extends OperationStanding {
  readonly id: OperationId;
  readonly kind: "job" | "write";
  readonly callId: CallId;
  readonly sessionId: string;
  readonly callerKey: string;
  /** Who may read and cancel it: the caller, or the wrapped run it belongs to. */
  readonly party: string;
  readonly action: string;
  readonly packDigest: string;
  readonly credential: string | null;
  readonly input: JsonObject;
  readonly fingerprint: string;
  /** The provider's plan that it carried out, which its repeat must name again. */
  readonly plan: PlanFill | null;
  /** The claim that it holds until it is settled; null for one that began before there were claims. */
  readonly claim: string | null;
  readonly token: string | null;
  /** When the request, with its token, was first sent. */
  readonly firstSent: Moment;
  readonly authorization: Authorization;
  readonly createdAt: string;
  /** The gateway that it was taken over from, which asks here how it ended. */
  readonly takenFrom?: string;
  /** Pays for its reads, apart from the run's budget. */
  readonly purse: { readonly id: RunId; budget: RunBudget };
}

/** The one place where an operation changes; `step` tells the log of what the table has to say. */
export function learn(operation: Operation, evidence: OperationEvidence): readonly OperationEffect[] {
  const evolved = evolve(operation, evidence);
  Object.assign(operation, evolved.operation);
  return evolved.effects;
}

/** The operations this process knows. Whose one is, is asked by whoever looks it up. */
export interface OperationBook {
  put(operation: Operation): void;
  drop(operation: Operation): void;
  get(id: OperationId | undefined): Operation;
  /** Whether this very one is in it. One from before a lock is not: its row was read anew. */
  holds(operation: Operation): boolean;
  all(): readonly Operation[];
  clear(): void;
  /** Called when one came or went; what becomes of one is told by its rows. */
  watch(listener: () => void): () => void;
}

/** `recall` finds one that ended before this process began: it is not in memory, and its row still is. */
export function createOperationBook(recall: (id: OperationId) => Operation | null): OperationBook {
  const operations = new Map<OperationId, Operation>();
  const watchers = new Set<() => void>();
  const tell = (): void => {
    for (const listener of [...watchers]) listener();
  };
  const get = (id: OperationId | undefined): Operation => {
    const known = id === undefined ? undefined : operations.get(id);
    const found = known ?? (id === undefined ? null : recall(id));
    if (found === null) throw new Denied("not_found", "There is no such operation.");
    if (known === undefined) keep(found);
    return found;
  };
  const keep = (operation: Operation): void => {
    operations.set(operation.id, operation);
    for (const [id, { state, resuming }] of operations) {
      if (operations.size <= defaults.operationsRemembered) break;
      if (isSettled(state) && !resuming && id !== operation.id) operations.delete(id);
    }
    tell();
  };
  return {
    put: keep,
    drop({ id }) {
      operations.delete(id);
      tell();
    },
    get,
    holds: (operation) => operations.get(operation.id) === operation,
    all: () => [...operations.values()],
    clear() {
      operations.clear();
      tell();
    },
    watch(listener) {
      const watcher = (): void => listener();
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

import { isSettled } from "../../conventions/operation/state.ts";
import { Denied } from "../../kernel/failure.ts";
import type { OperationNeeds } from "./needs.ts";
import type { Operation } from "./operations.ts";
import { jobReadOf } from "./poll.ts";
import { bindFor, definitionOf } from "./read-operation.ts";
import { NO_READ, reconcileReadOf } from "./reconcile.ts";
import { prepareRepeat } from "./token-retry.ts";

/**
 * What would refuse a read that a person asks for; null where it would be made. Told before anybody types a secret for it,
 * and read anew each time: a pack that is trusted again, or no longer, changes the answer.
 */
export function readRefusal(
  core: Pick<OperationNeeds, "book" | "packs" | "ports" | "worker">,
  operation: Operation,
): Operation["problem"] {
  try {
    requireReadable(core, operation);
    return null;
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return { code: error.code, detail: error.message };
  }
}

/** While a creation is on its way from here its answer decides: a read in between would move what that answer is about. */
export function requireAnswered({ worker }: Pick<OperationNeeds, "worker">, { state, lease }: Operation): void {
  if (state !== "create_pending" || lease?.owner !== worker) return;
  throw new Denied(
    "operation_evidence_pending",
    "It is being sent right now: its answer decides. Nothing was read; look again when its call has ended.",
  );
}

function requireReadable(
  core: Pick<OperationNeeds, "book" | "packs" | "ports" | "worker">,
  operation: Operation,
): void {
  const { state } = operation;
  if (isSettled(state)) throw new Denied("operation_settled", `it has ended already: ${state}`);
  requireAnswered(core, operation);
  const definition = definitionOf(core, operation);
  const unseen = state === "create_pending" || state === "create_unknown" || state === "reconciliation";
  const { tokenRetry } = definition.action.unknown;
  if (unseen && tokenRetry && prepareRepeat(core, operation, definition).decision.kind === "repeat") return;
  const read = unseen ? reconcileReadOf(core, operation, definition) : jobReadOf(core, operation, definition);
  if (read === null) throw new Denied("operation_not_reconcilable", NO_READ);
  bindFor(operation, read.reader, read.known);
}

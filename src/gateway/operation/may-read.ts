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
  core: Pick<OperationNeeds, "book" | "packs" | "ports">,
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

function requireReadable(core: Pick<OperationNeeds, "book" | "packs" | "ports">, operation: Operation): void {
  const { state } = operation;
  if (isSettled(state)) throw new Denied("operation_settled", `it has ended already: ${state}`);
  const definition = definitionOf(core, operation);
  const unseen = state === "create_pending" || state === "create_unknown" || state === "reconciliation";
  const { tokenRetry } = definition.action.unknown;
  if (unseen && tokenRetry && prepareRepeat(core, operation, definition).decision.kind === "repeat") return;
  const read = unseen ? reconcileReadOf(core, operation, definition) : jobReadOf(core, operation, definition);
  if (read === null) throw new Denied("operation_not_reconcilable", NO_READ);
  bindFor(operation, read.reader, read.known);
}

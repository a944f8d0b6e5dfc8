import { adviseAfter } from "../../conventions/outcome/advice.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { follow } from "../attempt/follow.ts";
import type { Attempted, Beside, Sending } from "../attempt/sending.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { requireLease } from "./lease.ts";
import type { OperationNeeds } from "./needs.ts";
import { step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { definitionOf, jobOf } from "./read-operation.ts";
import { bindOnJob, sendAsOperator } from "./send-as-operator.ts";

const EXPECTED = "the provider stops the work, if it has not ended by then";

/** The request that asks the provider to stop, or why there is none. */
export function bindCancel(core: Pick<OperationNeeds, "packs">, operation: Operation): Outbound {
  const definition = definitionOf(core, operation);
  const { cancel } = jobOf(definition);
  if (cancel === null) throw new Denied("operation_not_cancellable", "Its definition has no way to cancel.");
  return bindOnJob(core, definition, cancel, operation.input, requireCancellable(operation));
}

/** Asked again under the lease: it may have ended while a person thought about it. */
function requireCancellable({ state, remoteJobId }: Operation): string {
  if (remoteJobId === null || !["accepted", "observing", "cancel_requested"].includes(state)) {
    throw new Denied("operation_not_cancellable", `An operation that is ${state} cannot be cancelled.`);
  }
  return remoteJobId;
}

/**
 * Asks the provider to stop. Who wants it, why, and what is expected are stored before the request leaves; how the work
 * ends is what the provider reports afterwards, and never that this was sent.
 */
export async function cancelThrough(
  core: OperationNeeds,
  sending: Sending,
  operation: Operation,
  reason: string,
): Promise<CallResult> {
  await requireLease(core, operation);
  requireCancellable(operation);
  const hooks = cancelHooks(core, operation, operation.callerKey, reason);
  const { result } = await follow(core, { ...sending, operationId: operation.id, ...hooks });
  return {
    ...result,
    operation_id: operation.id,
    reconcile: { method: "GET", path: `/v1/operations/${operation.id}` },
    ...adviseAfter("cancel_asked"),
  };
}

/** An operator cancels, on their own authority. */
export async function cancelAsOperator(
  core: OperationNeeds,
  operation: Operation,
  operator: string,
  reason: string,
): Promise<void> {
  await requireLease(core, operation);
  const hooks = cancelHooks(core, operation, operator, reason);
  await sendAsOperator(core, operation, bindCancel(core, operation), operator, operation.callId, hooks);
}

function cancelHooks(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  actor: string,
  reason: string,
) {
  return {
    errand: "cancel" as const,
    beside: (): Beside => {
      const at = isoTime(core.ports.clock.wallMs());
      learn(operation, { kind: "cancel_wanted", cancel: { actor, reason, expectedEffect: EXPECTED, at } });
      const decided = { kind: "cancel_decided", actor, reason, expectedEffect: EXPECTED } as const;
      return { events: step(core, operation, decided, actor), rows: [operationRow(core, operation)] };
    },
    after: ({ attemptId, observation }: Attempted): Beside => {
      // Proven that nothing left: it is still only decided.
      if (observation.kind === "never_sent") return { events: [], rows: [] };
      const events = step(core, operation, { kind: "cancel_sent", attemptId }, actor);
      return { events, rows: [operationRow(core, operation)] };
    },
  };
}

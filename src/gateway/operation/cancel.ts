import { CANCEL_GUIDANCE, type CallResult } from "../../conventions/outcome/result.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { authorizedByOperator } from "../approval/authorize.ts";
import { attempt } from "../attempt/attempt.ts";
import { bindRead } from "../attempt/confirm.ts";
import { follow } from "../attempt/follow.ts";
import type { Attempted, Beside, CustodySending, Sending } from "../attempt/sending.ts";
import type { Core } from "../core.ts";
import { bindDefinition } from "../outbound/admit.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import { httpRequestOf } from "../outbound/request.ts";
import { definitionOf, jobOf } from "./care.ts";
import { step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import type { Operation } from "./operations.ts";
import { readerOf } from "./poll.ts";

const EXPECTED = "the provider stops the work, if it has not ended by then";

/** The request that asks the provider to stop, or why there is none. */
export function bindCancel(core: Core, operation: Operation): Outbound {
  const definition = definitionOf(core, operation);
  const { action, job } = cancelOf(core, definition);
  const { state, remoteJobId } = operation;
  if (remoteJobId === null || !["accepted", "observing", "cancel_requested"].includes(state)) {
    throw new Denied("operation_not_cancellable", `An operation that is ${state} cannot be cancelled.`);
  }
  const known = { ...operation.input, [job]: remoteJobId };
  const outbound = bindRead(action, known) ?? bindDefinition(action, { [job]: remoteJobId });
  return outbound;
}

function cancelOf(core: Core, definition: Definition): { readonly action: Definition; readonly job: string } {
  const { cancel } = jobOf(definition);
  if (cancel === null) throw new Denied("operation_not_cancellable", "Its definition has no way to cancel.");
  return { action: readerOf(core, definition, cancel.action), job: cancel.idInput };
}

/**
 * Asks the provider to stop. Who wants it, why, and what is expected are stored before the request leaves; how the work
 * ends is what the provider reports afterwards, and never that this was sent.
 */
export async function cancelThrough(
  core: Core,
  sending: Sending,
  operation: Operation,
  reason: string,
): Promise<CallResult> {
  const hooks = cancelHooks(core, operation, operation.callerKey, reason);
  const { result } = await follow(core, { ...sending, operationId: operation.id, ...hooks });
  return {
    ...result,
    operation_id: operation.id,
    reconcile: { method: "GET", path: `/v1/operations/${operation.id}` },
    guidance: CANCEL_GUIDANCE,
  };
}

/** An operator cancels: on their own authority, with the credential that the operation was started with. */
export async function cancelAsOperator(
  core: Core,
  operation: Operation,
  operator: string,
  reason: string,
): Promise<void> {
  const outbound = bindCancel(core, operation);
  const { budget } = operation.purse;
  const limits = {
    ...budget.limits,
    attempts: Math.max(budget.limits.attempts, budget.attemptsUsed + 1),
    sideEffects: budget.sideEffectAttempts + 1,
  };
  operation.purse.budget = { ...budget, limits };
  const sending: CustodySending = {
    run: operation.purse,
    session: { id: operation.sessionId, caller: { key: `operator ${operator}` } },
    callId: operation.callId,
    outbound,
    authorization: authorizedByOperator(operator, isoTime(core.ports.clock.wallMs())),
    request: httpRequestOf(core, outbound, operation.callId),
    credential: outbound.credential,
    operationId: operation.id,
    custody: () => operationRow(core, operation),
    ...cancelHooks(core, operation, operator, reason),
  };
  await attempt(core, sending);
}

function cancelHooks(core: Core, operation: Operation, actor: string, reason: string) {
  return {
    beside: (): Beside => {
      const at = isoTime(core.ports.clock.wallMs());
      operation.cancel ??= { actor, reason, expectedEffect: EXPECTED, at };
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

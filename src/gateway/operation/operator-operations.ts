import { isSettled } from "../../conventions/operation/state.ts";
import { Denied } from "../../kernel/failure.ts";
import type { OperationId } from "../../kernel/ids.ts";
import { type Core, requireUnlocked } from "../core.ts";
import { cancelAsOperator } from "./cancel.ts";
import type { Observer } from "./observe.ts";
import { momentIn } from "./operation.ts";
import type { Operation } from "./operations.ts";

/** What an operator can do with operations: all of them, and once more where automation has stopped. */
export interface OperatorOperations {
  list(): readonly Operation[];
  get(id: OperationId | undefined): Operation;
  reconcile(id: OperationId | undefined): Promise<Operation>;
  cancel(id: OperationId | undefined, operator: string, reason: string): Promise<Operation>;
}

export function operatorOperations(core: Core, observer: Observer): OperatorOperations {
  return {
    list: () => core.operations.all(),
    get: (id) => core.operations.get(id),
    async reconcile(id) {
      requireUnlocked(core);
      const operation = core.operations.get(id);
      grantOneRead(core, operation);
      return reconcileNow(observer, operation);
    },
    async cancel(id, operator, reason) {
      requireUnlocked(core);
      const operation = core.operations.get(id);
      await cancelAsOperator(core, operation, operator, reason);
      operation.nextPoll ??= momentIn(core, 0);
      observer.schedule(operation);
      return operation;
    },
  };
}

/** Reads now and says what stands in the way, where something does. */
export async function reconcileNow(observer: Observer, operation: Operation): Promise<Operation> {
  const { state, problem } = operation;
  if (isSettled(state)) throw new Denied("operation_settled", `The operation is ${state}.`);
  if (problem !== null) throw stopped(operation);
  await observer.observeNow(operation);
  if (operation.problem?.code === "operation_not_reconcilable") throw stopped(operation);
  return operation;
}

function stopped({ id, state, remoteJobId, problem }: Operation): Denied {
  const { code, detail } = problem ?? { code: "operation_needs_person" as const, detail: "" };
  const extra = { operation_id: id, state, remote_job_id: remoteJobId };
  return new Denied(code, `Nothing more is read for this operation: ${detail}.`, { extra });
}

/** A person asks: one read beyond the allowance, and only where running out of reads was what stopped it. */
function grantOneRead(core: Core, operation: Operation): void {
  const { problem, purse } = operation;
  if (problem === null) return;
  if (problem.code !== "poll_allowance_exhausted" && problem.code !== "operation_needs_person") return;
  operation.problem = null;
  const { budget } = purse;
  const attempts = Math.max(budget.limits.attempts, budget.attemptsUsed + 1);
  purse.budget = { ...budget, limits: { ...budget.limits, attempts }, stopReason: null };
  operation.nextPoll = momentIn(core, 0);
}

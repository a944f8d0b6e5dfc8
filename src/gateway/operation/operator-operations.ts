import type { ErrandStatement, SettlementStatement, Verified } from "../../conventions/approval/decision.ts";
import { budgetRecord } from "../../conventions/budget/record.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { OperationId } from "../../kernel/ids.ts";
import { inTurn } from "../../kernel/in-turn.ts";
import { type Authorization, authorizedByOperator } from "../approval/authorize.ts";
import { requireUnlocked } from "../core.ts";
import { cancelAsOperator } from "./cancel.ts";
import { takeErrand } from "./errand.ts";
import { isTakenAway } from "./lease.ts";
import { readRefusal, requireAnswered } from "./may-read.ts";
import type { OperationNeeds } from "./needs.ts";
import type { Observer } from "./observe.ts";
import { momentIn } from "./operation.ts";
import { learn, type Operation } from "./operations.ts";
import { awaitSchedule, requireWaited } from "./read-operation.ts";
import { resumeAsOperator } from "./resume.ts";
import { settleByPerson } from "./settle.ts";

/** What an operator can do with operations: all of them, and once more where automation has stopped. */
export interface OperatorOperations {
  list(): readonly Operation[];
  get(id: OperationId | undefined): Operation;
  /** Why a read that a person asks for would be refused now; null where it would be made. */
  readRefusal(operation: Operation): Operation["problem"];
  reconcile(id: OperationId | undefined, operator: string): Promise<Operation>;
  cancel(id: OperationId | undefined, operator: string, reason: string): Promise<Operation>;
  resume(id: OperationId | undefined, operator: string, reason: string): Promise<Operation>;
  /** A person says what became of it, where nothing else can. */
  settle(statement: Verified<SettlementStatement>): Promise<Operation>;
  /** What an operator signed on another machine, done once. */
  errand(statement: Verified<ErrandStatement>): Promise<Operation>;
  /** Called whenever one came, went, or was written down anew. Says nothing of which: whoever cares looks. */
  watch(listener: () => void): () => void;
}

export function operatorOperations(core: OperationNeeds, observer: Observer): OperatorOperations {
  // Of a word that comes twice at once the second finds the first on record.
  const takingTurns = inTurn();
  const operations: OperatorOperations = {
    list: () => core.operations.all(),
    get: (id) => core.operations.get(id),
    readRefusal: (operation) => readRefusal(core, operation),
    async reconcile(id, operator) {
      requireUnlocked(core);
      const operation = core.operations.get(id);
      requireHere(operation);
      requireAnswered(core, operation);
      grantOneRead(core, operation);
      const asked = authorizedByOperator(operator, isoTime(core.ports.clock.wallMs()));
      return reconcileNow(core, observer, operation, asked);
    },
    async cancel(id, operator, reason) {
      requireUnlocked(core);
      const operation = core.operations.get(id);
      await core.effects.during(cancelAsOperator(core, operation, operator, reason));
      learn(operation, { kind: "look_again", at: operation.nextPoll ?? momentIn(core, 0) });
      observer.schedule(operation);
      return operation;
    },
    async resume(id, operator, reason) {
      requireUnlocked(core);
      const operation = core.operations.get(id);
      await core.effects.during(resumeAsOperator(core, operation, operator, reason));
      return operation;
    },
    async settle(statement) {
      requireUnlocked(core);
      const operation = core.operations.get(statement.statement.operation_id as OperationId);
      await settleByPerson(core, operation, statement);
      return operation;
    },
    async errand(signed) {
      requireUnlocked(core);
      const { operation_id, errand, operator, reason } = signed.statement;
      const id = operation_id as OperationId;
      const operation = operations.get(id);
      requireHere(operation);
      await takingTurns(() => takeErrand(core, operation, signed));
      return await operations[errand](id, operator, reason);
    },
    watch(listener) {
      const stops = [core.operations.watch(listener), core.ledger.watch("operations", listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
  return operations;
}

function requireHere(operation: Operation): void {
  if (!isTakenAway(operation)) return;
  throw new Denied(
    "operation_taken_over",
    `This operation was taken over, and nothing is read for it here. Ask on ${operation.lease?.owner}; once you know how it ended, gw operation settle says so here too.`,
  );
}

/** Reads now and says what stands in the way, where something does. `asked` is a person's own authority for this read. */
export async function reconcileNow(
  core: Pick<OperationNeeds, "ports" | "worker">,
  observer: Observer,
  operation: Operation,
  asked: Authorization | null = null,
): Promise<Operation> {
  const { state, problem } = operation;
  if (isSettled(state)) throw new Denied("operation_settled", `It has ended already: ${state}. Nothing was read.`);
  requireAnswered(core, operation);
  if (problem !== null) throw stopped(operation);
  if (asked === null) requireWaited(core, operation);
  await observer.observeNow(operation, asked);
  if (asked === null) awaitSchedule(operation);
  if (operation.problem?.code === "operation_not_reconcilable") throw stopped(operation);
  return operation;
}

/** The last known state, the remote id and what is left of its reads: whoever reports the stop needs no second question. */
function stopped({ id, state, remoteState, remoteJobId, problem, purse }: Operation): Denied {
  const { code, detail } = problem ?? { code: "operation_needs_person" as const, detail: "" };
  const known = { operation_id: id, state, remote_state: remoteState, remote_job_id: remoteJobId };
  const extra = { ...known, budget: budgetRecord(purse.budget) };
  return new Denied(code, `Nothing more is read for this operation: ${detail}.`, { extra });
}

/**
 * A person asks: one read beyond the allowance. Whatever stopped it is looked at again, since a person may have mended it;
 * what still stands in the way stops it again, before anything is sent.
 */
function grantOneRead(core: Pick<OperationNeeds, "ports">, operation: Operation): void {
  const { problem, purse } = operation;
  const { budget } = purse;
  const attempts = Math.max(budget.limits.attempts, budget.attemptsUsed + 1);
  purse.budget = { ...budget, limits: { ...budget.limits, attempts }, stopReason: null };
  if (problem === null) return;
  learn(operation, { kind: "taken_up", lookAgain: momentIn(core, 0) });
}

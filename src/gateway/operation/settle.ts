import { type SettlementStatement, statementBytes, type Verified } from "../../conventions/approval/decision.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { Denied } from "../../kernel/failure.ts";
import { settleHeld } from "./held-reserve.ts";
import { isTakenAway, requireLease } from "./lease.ts";
import type { OperationNeeds } from "./needs.ts";
import { linksOf, step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";

/**
 * A person closes what only a person can know. It is their word and stays recognisable as such: the log keeps the
 * statement as it was signed. While evidence may still come by itself nobody has to say anything, unless they say why.
 */
export async function settleByPerson(
  core: OperationNeeds,
  operation: Operation,
  { statement, signature }: Verified<SettlementStatement>,
): Promise<void> {
  requireOpen(operation, statement);
  // Of one that another gateway took over nobody here finds out more: what a person says ends it on this host alone.
  if (!isTakenAway(operation)) await requireLease(core, operation);
  requireOpen(operation, statement);
  const { operator, reason, happened, although } = statement;
  const kind = happened ? ("person_says_happened" as const) : ("person_says_not" as const);
  const moved = step(core, operation, { kind, operator, reason }, operator);
  // Its answer decides: it is on its way right now, and the table lets nobody say otherwise.
  if (moved.length === 0) throw stillUnderWay(operation);
  learn(operation, { kind: "taken_up", lookAgain: null });
  const said = {
    happened,
    reason,
    although,
    operator,
    statement: statementBytes(statement).toString("utf8"),
    signature,
  };
  const held = settleHeld(core, operation);
  // It holds from here on, so that the statement must not be lost: it waits for room in the log.
  await core.ledger.record(
    "operation.settled",
    [{ ...core.envelope("operation_settled"), ...linksOf(operation), ...said }, ...moved, ...held.events],
    [operationRow(core, operation), ...held.rows],
  );
  // What the gateway wanted to read for it is not worth a person's answer any more.
  const { asking } = operation;
  await core.desk.withdraw("operation_settled", ({ approvalId }) => approvalId === asking);
}

function requireOpen(operation: Operation, { request_fingerprint, although }: SettlementStatement): void {
  const { state, problem, nextPoll, asking, fingerprint } = operation;
  if (request_fingerprint !== fingerprint) {
    throw new Denied("card_mismatch", "The statement was signed for another request than this operation's.");
  }
  if (isSettled(state)) throw new Denied("operation_settled", `It has ended already: ${state}. Nothing was changed.`);
  const looks = problem === null && (nextPoll !== null || asking !== null);
  if (looks && although === null) {
    const message = `The gateway still looks by itself (${state}${nextPoll === null ? "" : `, next at ${nextPoll.at}`}). Nothing was changed. To decide all the same, say why not to wait: --although TEXT`;
    throw new Denied("operation_evidence_pending", message);
  }
}

function stillUnderWay({ state }: Operation): Denied {
  return new Denied("operation_evidence_pending", `It is ${state} right now: its answer decides. Nothing was changed.`);
}

import type { Card } from "../../conventions/approval/card.ts";
import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import { limitsRecord } from "../../conventions/budget/record.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { digestJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { type Authorization, authorizedByCard } from "../approval/authorize.ts";
import { allowedBy, cardCall, cardDemand } from "../approval/cards.ts";
import { demandNow } from "../approval/demand.ts";
import { NO_USER, type Question } from "../approval/question.ts";
import { bindRead } from "../attempt/bind-read.ts";
import { type Outbound, targetOf } from "../outbound/outbound.ts";
import type { OperationNeeds } from "./needs.ts";
import { momentIn } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { jobReadOf } from "./poll.ts";
import { CUSTODIAN, definitionOf, stopCaring } from "./read-operation.ts";
import { reconcileReadOf } from "./reconcile.ts";

/**
 * Questions of the gateway's own: after a session ended, a credential that asks on every use is read with only if a
 * person says so. One card an operation, one read a card; what was denied or left unanswered waits for a person.
 */
export interface ReadAsks {
  /** True where a person has to agree first: the question is on the desk, or was asked too lately. */
  holdBack(operation: Operation): boolean;
  /** Somebody finds out in another way. */
  takeBack(operation: Operation): Promise<void>;
}

export function createReadAsks(
  core: OperationNeeds,
  read: (operation: Operation, authorization: Authorization) => Promise<void>,
): ReadAsks {
  const { clock } = core.ports;
  const notBefore = new WeakMap<Operation, number>();

  async function agreed(operation: Operation, shown: string, decision: Verified<DecisionStatement>): Promise<void> {
    learn(operation, { kind: "question_over" });
    if (isSettled(operation.state) || core.credentials() === null) return;
    // What is read is what was on the card: another read is another question.
    if (nextReadOf(core, operation)?.requestDigest !== shown) return lookAgain(operation);
    await read(operation, authorizedByCard(decision));
    if (isSettled(operation.state) || operation.problem !== null) return;
    if (nextReadOf(core, operation)?.requestDigest !== shown) return lookAgain(operation);
    learn(operation, { kind: "look_again", at: momentIn(core, defaults.custodyAskGapMs) });
    core.schedule(operation);
  }

  /** There is something else to ask, and that is no repetition. */
  function lookAgain(operation: Operation): void {
    notBefore.delete(operation);
    learn(operation, { kind: "look_again", at: momentIn(core, 0) });
    core.schedule(operation);
  }

  async function refused(operation: Operation, error: unknown): Promise<void> {
    learn(operation, { kind: "question_over" });
    if (!(error instanceof Denied) || isSettled(operation.state) || core.credentials() === null) return;
    if (error.code !== "approval_denied" && error.code !== "approval_expired") return;
    stopCaring(
      operation,
      "operation_needs_person",
      `its session is over, and the read was not approved: ${error.message}`,
    );
    await core.ledger.record("operation.stopped", [], [operationRow(core, operation)]);
  }

  return {
    holdBack(operation) {
      if (operation.asking !== null) return true;
      const outbound = nextReadOf(core, operation);
      if (outbound === null) return false;
      const nowMs = clock.bootMs();
      const waitMs = (notBefore.get(operation) ?? 0) - nowMs;
      learn(operation, { kind: "look_again", at: waitMs > 0 ? momentIn(core, waitMs) : null });
      if (waitMs > 0) return true;
      notBefore.set(operation, nowMs + defaults.custodyAskGapMs);
      try {
        const { approvalId, answer } = core.desk.ask(writeReadQuestion(core, operation, outbound));
        learn(operation, { kind: "person_asked", approvalId });
        answer
          .then(
            (decision) => agreed(operation, outbound.requestDigest, decision),
            (error: unknown) => refused(operation, error),
          )
          // A log that cannot be written has stopped the gateway already.
          .catch(() => undefined);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        learn(operation, { kind: "look_again", at: momentIn(core, defaults.custodyAskGapMs) });
      }
      return true;
    },
    async takeBack(operation) {
      const { asking } = operation;
      await core.desk.withdraw("read_otherwise", ({ approvalId }) => approvalId === asking);
    },
  };
}

/** The read that would come next, as it would be sent; null where none is defined. */
function nextReadOf(core: Pick<OperationNeeds, "packs">, operation: Operation): Outbound | null {
  const definition = definitionOf(core, operation);
  const read =
    operation.state === "create_unknown"
      ? reconcileReadOf(core, operation, definition)
      : jobReadOf(core, operation, definition);
  return read === null ? null : bindRead(read.reader, read.known);
}

function writeReadQuestion(
  core: Pick<OperationNeeds, "book" | "posture">,
  operation: Operation,
  outbound: Outbound,
): Question {
  const { budget } = operation.purse;
  const because = ["its session is over, and its credential is marked for approval on every use"];
  const call = cardCall({ callId: operation.callId, outbound, target: targetOf(outbound), because });
  const left = budget.limits.attempts - budget.attemptsUsed;
  const demand = () => demandNow(core, [allowedBy(outbound)]);
  return {
    mode: "custody",
    callerKey: `${CUSTODIAN} ${operation.id}`,
    uid: NO_USER,
    runId: operation.purse.id,
    callId: operation.callId,
    action: outbound.action,
    deadlineBootMs: budget.deadlineBootMs,
    budget: null,
    askDigest: digestJson({ mode: "custody", operation: operation.id, request: outbound.requestDigest }),
    demand,
    writeCard: (approval_id, created_at, expires_at): Card => ({
      format: "gw.card/v1",
      approval_id,
      asks: "custody",
      created_at,
      expires_at,
      authority: "The gateway itself asks. No program is calling.",
      mode: core.posture().mode,
      caller: {},
      context: {},
      run: {
        run_id: operation.purse.id,
        purpose_claimed: core.book.run(operation.purse.id)?.purpose ?? "",
        budget: limitsRecord(budget.limits),
        deadline_at: budget.deadlineAt,
      },
      scope: null,
      call,
      ...cardDemand(core, demand()),
      notes: [
        `it looks after ${operation.id}, which ${operation.action} started at ${operation.createdAt}; the session that started it is over`,
        `what is known of it: ${operation.state}, at the provider ${operation.remoteJobId ?? "not named"}`,
        `approving makes exactly this one read and sends nothing again; ${left} reads are left for it`,
      ],
      if_unanswered: "the question expires, nothing is read, and the operation waits for a person",
    }),
  };
}

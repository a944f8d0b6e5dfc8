import { isSettled } from "../../conventions/operation/state.ts";
import {
  compareUrgency,
  needsPerson,
  type OperationBoard,
  type OperationDetail,
  type OperationSummary,
  type Standing,
} from "../../conventions/operation/summary.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { cancelRecord, operationRecord } from "../../gateway/operation/operation.ts";
import type { Operation } from "../../gateway/operation/operations.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";

/** Operations as operators see them: everybody's, with who started each, and times as what is left of them. */
export interface OperationRecords {
  /** One whole, with its history and its result. */
  detail(operation: Operation): OperationDetail;
  /** All of them, without results: those can be large, and one operation's own record has its. */
  list(): readonly OperationDetail[];
  board(): OperationBoard;
}

export function createOperationRecords(gateway: Gateway, clock: Pick<Clock, "bootMs">): OperationRecords {
  const started = (): ReadonlyMap<string, string> =>
    new Map(
      gateway.sessions().map(({ id, caller: { evidence } }) => {
        const { pid, uid } = evidence.process;
        return [id as string, `pid ${pid} uid ${uid} ${evidence.pathObserved}`];
      }),
    );
  const summary = (operation: Operation, names: ReadonlyMap<string, string>): OperationSummary => {
    const { problem } = operation;
    return {
      ...standingOf(operation, clock.bootMs()),
      kind: operation.kind,
      action: operation.action,
      run_id: operation.purse.id,
      started_by: names.get(operation.sessionId) ?? `session ${operation.sessionId}, which is over`,
      authorized_by: operation.authorization.authorizedBy,
      created_at: operation.createdAt,
      remote_job_id: operation.remoteJobId,
      remote_state: operation.remoteState,
      progress: operation.progress,
      cancel: cancelRecord(operation),
      problem: problem === null ? null : { code: problem.code, detail: problem.detail },
      unreadable: gateway.operations.readRefusal(operation),
    };
  };
  const whole = (operation: Operation, names: ReadonlyMap<string, string>): OperationDetail => ({
    ...summary(operation, names),
    session_id: operation.sessionId,
    faults: operation.faults,
    ...operationRecord(operation),
  });
  return {
    detail: (operation) => whole(operation, started()),
    list() {
      const names = started();
      return gateway.operations.list().map((operation) => ({ ...whole(operation, names), result: null }));
    },
    board() {
      const names = started();
      const nowMs = clock.bootMs();
      const urgent = createTop<Operation>(defaults.operationsShown, (a, b) => compareUrgency(standing(a), standing(b)));
      const ended = createTop<Operation>(defaults.operationsEndedShown, (a, b) => (endOf(a) < endOf(b) ? 1 : -1));
      const standing = (operation: Operation) => standingOf(operation, nowMs);
      let [open, waiting] = [0, 0];
      for (const operation of gateway.operations.list()) {
        if (isSettled(operation.state)) {
          ended.offer(operation);
          continue;
        }
        open++;
        if (needsPerson(standing(operation))) waiting++;
        urgent.offer(operation);
      }
      return {
        open,
        needs_person: waiting,
        shown: urgent.taken().map((one) => summary(one, names)),
        ended: ended.taken().map((one) => summary(one, names)),
      };
    },
  };
}

function standingOf({ id, state, problem, nextPoll, resultDeadline, asking }: Operation, nowMs: number): Standing {
  return {
    operation_id: id,
    state,
    problem,
    next_poll_in_ms: nextPoll === null ? null : Math.round(nextPoll.bootMs - nowMs),
    result_in_ms: Math.round(resultDeadline.bootMs - nowMs),
    approval_id: asking,
  };
}

/** The first few in an order, without sorting the many. */
function createTop<Item>(most: number, compare: (one: Item, other: Item) => number) {
  const kept: Item[] = [];
  return {
    offer(item: Item): void {
      const last = kept.at(-1);
      if (kept.length >= most && last !== undefined && compare(item, last) >= 0) return;
      const found = kept.findIndex((one) => compare(item, one) < 0);
      kept.splice(found < 0 ? kept.length : found, 0, item);
      if (kept.length > most) kept.pop();
    },
    taken: (): readonly Item[] => kept,
  };
}

function endOf({ history, createdAt }: Operation): string {
  return history.at(-1)?.at ?? createdAt;
}

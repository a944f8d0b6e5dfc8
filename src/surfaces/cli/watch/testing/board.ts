import { isSettled } from "../../../../conventions/operation/state.ts";
import {
  compareUrgency,
  needsPerson,
  type OperationBoard,
  type OperationDetail,
  type OperationSummary,
} from "../../../../conventions/operation/summary.ts";
import { operationOf } from "../../../../conventions/operation/testing/summary.ts";

/** Automation has stopped for it. */
export function stuckOf(id: string, code = "poll_allowance_exhausted"): OperationSummary {
  return operationOf(id, { next_poll_in_ms: null, problem: { code, detail: "12 checks made; last known state x" } });
}

export function detailOf(change: Partial<OperationSummary> = {}): OperationDetail {
  const summary = operationOf("op_1", change);
  return {
    ...summary,
    request_fingerprint: "sha256:11",
    idempotency_token: "sha256:22",
    create_deadline: "2026-01-01T00:00:30.000Z",
    result_deadline: "2026-01-01T00:02:00.000Z",
    lease: null,
    next_poll_at: null,
    call_id: "call_1",
    session_id: "ses_1",
    settled: isSettled(summary.state),
    checks: 3,
    faults: 1,
    observed_by: "session",
    budget: {
      run_id: "run_1",
      attempts_used: 0,
      attempts_remaining: 12,
      deadline_at: "2026-01-01T01:00:00.000Z",
      reserved_spend: 0,
      settled_spend: 0,
      spend_remaining_cents: 0,
      side_effect_attempts: 0,
      side_effects_remaining: 0,
      budget_stop_reason: null,
    },
    result: null,
    result_digest: null,
    resumes: [],
    history: [
      {
        at: "2026-01-01T00:00:01.000Z",
        actor: "1.2.3.4",
        from: "create_pending",
        to: "accepted",
        cause: "job_named",
        remote_job_id: "job-1",
      },
      {
        at: "2026-01-01T00:00:03.000Z",
        actor: "log 1",
        from: "accepted",
        to: "observing",
        cause: "observation_started",
        remote_job_id: "job-1",
      },
    ],
  };
}

/** As the gateway makes it: the most urgent first, what has ended apart. */
export function boardOf(...operations: readonly OperationSummary[]): OperationBoard {
  const open = operations.filter(({ state }) => !isSettled(state));
  return {
    open: open.length,
    needs_person: open.filter(needsPerson).length,
    shown: [...open].sort(compareUrgency),
    ended: operations.filter(({ state }) => isSettled(state)),
  };
}

export const noOperations: OperationBoard = boardOf();

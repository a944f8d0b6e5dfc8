import type { OperationSummary } from "../summary.ts";

/** A job that runs as it should. */
export function operationOf(id: string, change: Partial<OperationSummary> = {}): OperationSummary {
  return {
    operation_id: id,
    kind: "job",
    action: "acme.report.create",
    state: "observing",
    run_id: "run_1",
    started_by: "pid 7 uid 1000 /usr/bin/agent",
    authorized_by: "ada",
    created_at: "2026-01-01T00:00:00.000Z",
    remote_job_id: "job-1",
    remote_state: "running",
    progress: { completed: 40, total: 100 },
    next_poll_in_ms: 4_000,
    result_in_ms: 120_000,
    cancel: null,
    problem: null,
    unreadable: null,
    approval_id: null,
    ...change,
  };
}

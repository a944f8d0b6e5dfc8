import type { OperationState } from "./state.ts";

/** The operation record of the specification. It exists, with its token, before the first send. */
export type OperationRecord = {
  readonly operation_id: string;
  readonly request_fingerprint: string;
  readonly idempotency_token: string;
  readonly remote_job_id: string | null;
  readonly state: OperationState;
  readonly created_at: string;
  readonly create_deadline: string;
  readonly result_deadline: string;
  readonly lease: LeaseRecord | null;
  readonly next_poll_at: string | null;
};

export type LeaseRecord = { readonly owner: string; readonly expires_at: string };

/** What a provider answers to a creation (202, with `Location`). */
export type JobCreation = { readonly job_id: string; readonly state: string; readonly status_url: string };

export type JobStatus = {
  readonly job_id: string;
  readonly state: string;
  readonly updated_at: string;
  readonly progress: { readonly completed: number; readonly total: number };
};

/** Whether `owner` may observe now: nobody does, it does already, or the other's lease has run out. */
export function mayLease(lease: LeaseRecord | null, owner: string, nowMs: number): boolean {
  return lease === null || lease.owner === owner || Date.parse(lease.expires_at) <= nowMs;
}

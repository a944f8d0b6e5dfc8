/**
 * How work goes on with time. Progress reaches its total well before the end, and a cancellation that comes after that
 * still ends in success: both on purpose, because providers do this and clients must not be fooled by it.
 */
export type JobState = "queued" | "running" | "cancelling" | "succeeded" | "failed" | "cancelled";

export interface Job {
  readonly state: JobState;
  readonly fails: boolean;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly cancelAtMs: number | null;
  readonly cancelIgnored: boolean;
}

export interface JobNow {
  readonly state: JobState;
  readonly completed: number;
  /** When the state next changes by itself; null once it is final. */
  readonly dueAtMs: number | null;
}

export const PROGRESS_TOTAL = 100;
const QUEUED_PART = 0.1;
const PROGRESS_PART = 0.7;
const CANCEL_PART = 0.2;

export function isFinal(state: JobState): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}

export function advanceJob(job: Job, nowMs: number): JobNow {
  const endMs = job.startedAtMs + job.durationMs;
  const completed = progressAt(job, Math.min(nowMs, job.cancelAtMs ?? nowMs));
  if (isFinal(job.state)) return { state: job.state, completed, dueAtMs: null };
  if (job.cancelAtMs !== null) {
    const tooLate = job.cancelIgnored || progressAt(job, job.cancelAtMs) === PROGRESS_TOTAL;
    const stopMs = tooLate ? Math.max(endMs, job.cancelAtMs) : job.cancelAtMs + job.durationMs * CANCEL_PART;
    if (nowMs < stopMs) return { state: "cancelling", completed, dueAtMs: stopMs };
    if (!tooLate) return { state: "cancelled", completed, dueAtMs: null };
    return { state: endOf(job), completed: progressAt(job, nowMs), dueAtMs: null };
  }
  if (nowMs >= endMs) return { state: endOf(job), completed, dueAtMs: null };
  const running = nowMs >= job.startedAtMs + job.durationMs * QUEUED_PART;
  return { state: running ? "running" : "queued", completed, dueAtMs: endMs };
}

function endOf(job: Job): JobState {
  return job.fails ? "failed" : "succeeded";
}

function progressAt(job: Job, atMs: number): number {
  if (job.durationMs <= 0) return PROGRESS_TOTAL;
  const part = (atMs - job.startedAtMs) / (job.durationMs * PROGRESS_PART);
  return Math.max(0, Math.min(PROGRESS_TOTAL, Math.floor(part * PROGRESS_TOTAL)));
}

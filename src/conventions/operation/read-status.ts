import { followPointer } from "../../../packages/request/src/pointer.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Job } from "../action/pack.ts";

/** What one answer of the provider says about a job. Progress is shown to people and decides nothing. */
export interface JobReport {
  /** Null where the answer names none. */
  readonly jobId: string | null;
  readonly remoteState: string | null;
  readonly end: "succeeded" | "failed" | "cancelled" | null;
  readonly progress: { readonly completed: number; readonly total: number } | null;
}

const MAX_ID = 256;

export function readJobReport(job: Job, body: JsonValue): JobReport {
  const remoteState = readIdentifier(followPointer(body, job.state));
  return {
    jobId: readIdentifier(followPointer(body, job.id)),
    remoteState,
    end: endOf(job, remoteState),
    progress: readProgress(body),
  };
}

/** Only the states that the definition lists as final end anything. */
function endOf(job: Job, state: string | null): JobReport["end"] {
  if (state === null) return null;
  if (job.succeeded.includes(state)) return "succeeded";
  if (job.failed.includes(state)) return "failed";
  return job.cancelled.includes(state) ? "cancelled" : null;
}

/** An identifier or a word of the provider's, within bounds; a whole number is read as its digits. */
export function readIdentifier(value: JsonValue | undefined): string | null {
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" && value.length <= MAX_ID ? value : null;
}

function readProgress(body: JsonValue): JobReport["progress"] {
  const progress = isJsonObject(body) ? body["progress"] : undefined;
  if (!isJsonObject(progress)) return null;
  const { completed, total } = progress;
  return typeof completed === "number" && typeof total === "number" ? { completed, total } : null;
}

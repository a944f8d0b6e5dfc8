import type { CallResult } from "./result.ts";

/** What a call came to, as far as whoever asked must act on it. */
export type Ending =
  /** A receipt came back. */
  | "success"
  /** Proven not to have happened. */
  | "error"
  /** It may have happened. */
  | "unknown"
  /** Work that the provider took on, and that has not ended. */
  | "accepted"
  | "cancel_asked"
  | "resume_asked";

export type Advice = Pick<CallResult, "retry_allowed" | "guidance">;

/**
 * Whether the same call may be made again, and what to do instead: one decision, so that the flag and the words cannot
 * contradict each other. Only what is proven not to have happened may be made again, where its definition allows that.
 */
export function adviseAfter(ending: Ending, definitionAllows = false): Advice {
  switch (ending) {
    case "success":
      return { retry_allowed: false, guidance: null };
    case "error":
      return { retry_allowed: definitionAllows, guidance: null };
    case "unknown":
      return { retry_allowed: false, guidance: UNKNOWN_GUIDANCE };
    case "accepted":
      return { retry_allowed: false, guidance: JOB_GUIDANCE };
    case "cancel_asked":
      return { retry_allowed: false, guidance: CANCEL_GUIDANCE };
    case "resume_asked":
      return { retry_allowed: false, guidance: RESUME_GUIDANCE };
  }
}

export const UNKNOWN_GUIDANCE =
  "The action may have happened. Do not repeat it and do not report it as failed: read the state with the reconcile call, or ask a person. Until it is settled the same call is answered with this operation and sends nothing.";

const JOB_GUIDANCE =
  "The provider accepted the work; that is not its completion. Do not start it again: read the operation until it is settled. Until then the same call sends nothing.";

const CANCEL_GUIDANCE =
  "Cancelling was asked for; the provider decides how the work ends. Do not ask again: read the operation until it is settled.";

const RESUME_GUIDANCE =
  "Resuming was asked for; whether the work goes on is what the provider reports. Do not ask again: read the operation until it is settled.";

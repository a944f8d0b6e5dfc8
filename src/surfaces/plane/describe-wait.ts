import type { Call } from "../../gateway/run/run.ts";

/** Why a call has no result yet, as agents are told it. */
export interface WaitRecord {
  readonly approval_id: string | null;
  readonly waits_for: "person" | "provider";
  /** Until when it waits to be sent again, and after what. */
  readonly paused?: { readonly until: string; readonly after: string };
}

export function describeWait({ state, approvalId, wait }: Pick<Call, "state" | "approvalId" | "wait">): WaitRecord {
  if (state === "pending") return { approval_id: approvalId, waits_for: "person" };
  if (wait === null) return { approval_id: approvalId, waits_for: "provider" };
  if ("approvalId" in wait) return { approval_id: wait.approvalId, waits_for: "person" };
  return { approval_id: approvalId, waits_for: "provider", paused: { ...wait } };
}

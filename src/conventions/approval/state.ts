import type { Code } from "../../kernel/codes.ts";

/** Every final state has its own code; a late decision changes nothing. */
export const approvalStates = ["pending", "approved", "denied", "expired", "withdrawn"] as const;
export type ApprovalState = (typeof approvalStates)[number];

export type ApprovalTrigger =
  | "operator_approved"
  | "operator_denied"
  | "time_passed"
  /** Caller gone, run ended, locked, gateway restarted, or another card took this one's place. */
  | "withdrawn";

interface Row {
  readonly from: ApprovalState;
  readonly trigger: ApprovalTrigger;
  readonly to: ApprovalState;
  /** What must be at hand for the step: a verified signature, or the gateway's own observation. */
  readonly evidence: "signature" | "observation";
}

const table: readonly Row[] = [
  { from: "pending", trigger: "operator_approved", to: "approved", evidence: "signature" },
  { from: "pending", trigger: "operator_denied", to: "denied", evidence: "signature" },
  { from: "pending", trigger: "time_passed", to: "expired", evidence: "observation" },
  { from: "pending", trigger: "withdrawn", to: "withdrawn", evidence: "observation" },
];

/** The next state, or null: a pair that is not in the table is refused and changes nothing. */
export function stepApproval(
  from: ApprovalState,
  trigger: ApprovalTrigger,
  evidence: "signature" | "observation",
): ApprovalState | null {
  return table.find((row) => row.from === from && row.trigger === trigger && row.evidence === evidence)?.to ?? null;
}

export function codeOfState(state: Exclude<ApprovalState, "pending" | "approved">): Code {
  switch (state) {
    case "denied":
      return "approval_denied";
    case "expired":
      return "approval_expired";
    case "withdrawn":
      return "approval_withdrawn";
  }
}

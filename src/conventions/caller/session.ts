import { Fault } from "../../kernel/failure.ts";

/**
 * The caller approval session of the specification, as one table. `requested` is its "approval requested". A session
 * is bound to one live process: `ended` is final, and whoever comes next starts from `none`.
 */
export type SessionState = "none" | "requested" | "approved" | "ended";

export type SessionTrigger =
  /** A new agent process requests an action. */
  | "action_requested"
  | "operator_approved"
  /** Denied, expired or withdrawn: no session came of it. */
  | "not_approved"
  /** The same process continues, and a fresh check of its credential says so. */
  | "same_process_continues"
  | "process_exited"
  /** The program that a bridge speaks for. */
  | "parent_exited"
  | "image_replaced"
  | "connection_closed"
  | "operator_revoked"
  | "gateway_locked"
  | "run_over";

interface Row {
  readonly from: SessionState;
  readonly trigger: SessionTrigger;
  readonly to: SessionState;
}

const endings = [
  "process_exited",
  "parent_exited",
  "image_replaced",
  "connection_closed",
  "operator_revoked",
  "gateway_locked",
  "run_over",
] as const satisfies readonly SessionTrigger[];

export type SessionEnding = (typeof endings)[number];

export const sessionTable: readonly Row[] = [
  { from: "none", trigger: "action_requested", to: "requested" },
  { from: "requested", trigger: "operator_approved", to: "approved" },
  { from: "requested", trigger: "not_approved", to: "none" },
  { from: "approved", trigger: "same_process_continues", to: "approved" },
  ...endings.map((trigger): Row => ({ from: "requested", trigger, to: "ended" })),
  ...endings.map((trigger): Row => ({ from: "approved", trigger, to: "ended" })),
];

export type SessionStep =
  | { readonly kind: "moved"; readonly to: SessionState }
  | { readonly kind: "refused"; readonly from: SessionState; readonly trigger: SessionTrigger };

/** A pair that the table does not hold changes nothing: an ended session is never revived. */
export function stepSession(from: SessionState, trigger: SessionTrigger): SessionStep {
  const row = sessionTable.find((candidate) => candidate.from === from && candidate.trigger === trigger);
  return row === undefined ? { kind: "refused", from, trigger } : { kind: "moved", to: row.to };
}

/** A session as it begins: somebody asked for it, and it was approved. */
export function beginSession(): SessionState {
  return (["action_requested", "operator_approved"] as const).reduce<SessionState>((from, trigger) => {
    const step = stepSession(from, trigger);
    if (step.kind === "refused") throw new Fault(`no session begins: ${trigger} does nothing to ${from}`);
    return step.to;
  }, "none");
}

/** Whether the same process may go on under it. That it is still the same process is asked of the process itself. */
export function mayContinue({ state }: { readonly state: SessionState }): boolean {
  return stepSession(state, "same_process_continues").kind === "moved";
}

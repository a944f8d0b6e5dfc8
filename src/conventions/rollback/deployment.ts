/** The life of a deployment. A terminal state ends every capability that was issued for it. */
export type DeploymentState = "running" | "active" | "failed" | "superseded" | "rolled_back";

export type DeploymentTrigger = "rollout_finished" | "rollout_failed" | "newer_promotion" | "rollback_accepted";

interface Row {
  readonly from: DeploymentState;
  readonly trigger: DeploymentTrigger;
  readonly to: DeploymentState;
}

export const deploymentTable: readonly Row[] = [
  { from: "running", trigger: "rollout_finished", to: "active" },
  { from: "running", trigger: "rollout_failed", to: "failed" },
  { from: "active", trigger: "newer_promotion", to: "superseded" },
  { from: "active", trigger: "rollback_accepted", to: "rolled_back" },
];

/** The next state, or undefined: a pair that is not in the table changes nothing. */
export function stepDeployment(from: DeploymentState, trigger: DeploymentTrigger): DeploymentState | undefined {
  return deploymentTable.find((row) => row.from === from && row.trigger === trigger)?.to;
}

export function isTerminalDeployment(state: DeploymentState): boolean {
  return !deploymentTable.some((row) => row.from === state);
}

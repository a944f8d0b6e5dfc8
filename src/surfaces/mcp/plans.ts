import type { CallResult } from "../../conventions/outcome/result.ts";
import { defaults } from "../../kernel/defaults.ts";

/**
 * Which tool carries out which plan. A client lets its person allow tools one by one, so that a plan of one action must not
 * be carried out by calling the tool of another.
 */
export interface PlanMemory {
  remember(result: CallResult): void;
  actionOf(planId: string): string | undefined;
}

export function createPlanMemory(): PlanMemory {
  const actions = new Map<string, string>();
  return {
    remember({ plan }) {
      const { plan_id, action } = plan ?? {};
      if (typeof plan_id !== "string" || typeof action !== "string") return;
      actions.set(plan_id, action);
      for (const oldest of actions.keys()) {
        if (actions.size <= defaults.mcpPlansRemembered) return;
        actions.delete(oldest);
      }
    },
    actionOf: (planId) => actions.get(planId),
  };
}

import type { ReadRevision } from "../../../../src/conventions/plan/record.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";

/** What every previewed plan has, whatever it is about: whose it is, and what its execution is held against. */
export type ShelvedPlan = {
  readonly plan_id: string;
  readonly tenant: string;
  readonly actor: string;
  readonly request_digest: string;
  readonly equivalence: string;
  readonly read_revisions: readonly ReadRevision[];
  readonly expires_at_ms: number;
};

/**
 * Previewed plans are kept in memory: a preview leaves no durable trace at all. After a restart they are gone and a new
 * preview is made, or the plan token carries the plan. That a plan was executed is durable.
 */
export interface PlanShelf<Plan extends ShelvedPlan> {
  /** An expired plan stays a while, so that it is told apart from one that never was. */
  put(plan: Plan, nowMs: number): void;
  get(planId: string): Plan | undefined;
}

export function createShelf<Plan extends ShelvedPlan>(): PlanShelf<Plan> {
  const plans = new Map<string, Plan>();
  return {
    put(plan, nowMs) {
      for (const [id, old] of plans) if (nowMs - old.expires_at_ms > defaults.planMs) plans.delete(id);
      const own = [...plans.values()].filter((other) => other.tenant === plan.tenant && other.actor === plan.actor);
      // The oldest goes: maps keep the order of insertion.
      if (own.length >= defaults.plansPerPrincipal && own[0] !== undefined) plans.delete(own[0].plan_id);
      plans.set(plan.plan_id, plan);
    },
    get: (planId) => plans.get(planId),
  };
}

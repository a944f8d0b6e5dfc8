import type { ReadRevision } from "../../conventions/plan/record.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Role, Version } from "../version.ts";

/** The intent of a plan: exactly what execution carries out. */
export type MembershipIntent = {
  readonly project_id: string;
  readonly subject_id: string;
  readonly role: Role;
  readonly if_match: string;
};

/** A previewed plan, on the shelf or inside a plan token. */
export type MembershipPlan = {
  readonly plan_id: string;
  readonly tenant: string;
  readonly actor: string;
  readonly version: Version;
  readonly intent: MembershipIntent;
  readonly request_digest: string;
  readonly equivalence: string;
  readonly read_revisions: readonly ReadRevision[];
  readonly expires_at_ms: number;
};

/**
 * Previewed plans are kept in memory: a preview leaves no durable trace at all. After a restart they are gone and a new
 * preview is made, or the plan token carries the plan. That a plan was executed is durable.
 */
export interface PlanShelf {
  /** An expired plan stays a while, so that it is told apart from one that never was. */
  put(plan: MembershipPlan, nowMs: number): void;
  get(planId: string): MembershipPlan | undefined;
}

export function createShelf(): PlanShelf {
  const plans = new Map<string, MembershipPlan>();
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

/** A plan token was sealed here, so it has the shape that was sealed. */
export function planFromToken(opened: JsonObject): MembershipPlan {
  return opened as unknown as MembershipPlan;
}

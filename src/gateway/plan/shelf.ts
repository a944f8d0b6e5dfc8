import type { Preview, ReadRevision } from "../../conventions/plan/record.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { PlanId, RunId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";

/**
 * A stored preview. It belongs to one caller and one run, is used once, and says everything that its execution is held
 * against. What the provider calls the plan stays here; the agent knows it by our own identifier.
 */
export interface Plan {
  readonly id: PlanId;
  readonly runId: RunId;
  readonly callerKey: string;
  /** PACK.ACTION that carries it out, and the one that previewed it. */
  readonly action: string;
  readonly previewAction: string;
  readonly packDigest: string;
  readonly input: JsonObject;
  readonly shown: JsonObject;
  /** Of the preview request, as we sent it. */
  readonly requestDigest: string;
  readonly preview: Preview;
  readonly revisions: readonly ReadRevision[];
  readonly equivalence: string;
  readonly previewedAt: string;
  readonly expiresAt: string;
  readonly expiresBootMs: number;
  state: "previewed" | "executed" | "rejected";
}

/** The plans of live runs. A plan of another caller is as absent as one that never was. */
export interface PlanShelf {
  put(plan: Plan): void;
  /** `mayUse` says whether whoever asks is the one it was made for. */
  find(id: PlanId | undefined, mayUse: (plan: Plan) => boolean): Plan;
}

export function createShelf(): PlanShelf {
  const plans = new Map<PlanId, Plan>();
  const ofRun = new Map<string, PlanId[]>();
  return {
    put(plan) {
      plans.set(plan.id, plan);
      const ids = ofRun.get(plan.runId) ?? [];
      ofRun.delete(plan.runId);
      ofRun.set(plan.runId, ids);
      ids.push(plan.id);
      if (ids.length > defaults.plansPerRun) plans.delete(ids.shift() ?? plan.id);
      for (const [runId, old] of ofRun) {
        if (ofRun.size <= defaults.runsRemembered) break;
        for (const id of old) plans.delete(id);
        ofRun.delete(runId);
      }
    },
    find(id, mayUse) {
      const plan = id === undefined ? undefined : plans.get(id);
      if (plan === undefined || !mayUse(plan)) {
        throw new Denied("not_found", "There is no such plan for this caller.");
      }
      return plan;
    },
  };
}

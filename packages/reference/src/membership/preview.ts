import { groupEffects } from "../../../../src/conventions/plan/effects.ts";
import { type EffectRelation, isExecutable, type Preview } from "../../../../src/conventions/plan/record.ts";
import { isoTime } from "../../../../src/kernel/clock.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Who } from "../context.ts";
import type { Core } from "../core.ts";
import { openText, sealText } from "../sealed-text.ts";
import type { Version } from "../version.ts";
import { planMembership } from "./plan.ts";
import { type MembershipIntent, type MembershipPlan, planFromToken } from "./shelf.ts";

const PLAN_TOKEN = "plan token";
const EFFECTS_CURSOR = "plan effects";

export type MembershipPreview = Preview & { readonly plan_token: string | null };

/** Reads, and writes nothing anywhere: the plan goes on a shelf in memory and into a token that the caller carries. */
export function previewMembership(core: Core, who: Who, version: Version, intent: MembershipIntent): MembershipPreview {
  const planned = planMembership(core, who, version, intent);
  const executable = isExecutable(planned.validation);
  const plan: MembershipPlan = {
    plan_id: core.identify("pln"),
    tenant: who.tenant,
    actor: who.actor,
    version,
    intent,
    request_digest: planned.requestDigest,
    equivalence: planned.equivalence,
    read_revisions: planned.readRevisions,
    expires_at_ms: core.clock.wallMs() + defaults.planMs,
  };
  if (executable) core.plans.put(plan, core.clock.wallMs());
  const cursorFor = (relation: EffectRelation, offset: number) => effectsCursor(core, plan.plan_id, relation, offset);
  return {
    mode: "preview",
    executable,
    validation: planned.validation,
    plan_id: executable ? plan.plan_id : null,
    plan_token: executable ? sealText(core, PLAN_TOKEN, plan) : null,
    expires_at: executable ? isoTime(plan.expires_at_ms) : null,
    request_digest: planned.requestDigest,
    read_revisions: planned.readRevisions,
    effects: groupEffects(planned.effects, defaults.planSample, cursorFor),
    assumptions: planned.assumptions,
  };
}

export function openPlanToken(core: Core, token: string): MembershipPlan | undefined {
  const opened = openText(core, PLAN_TOKEN, token);
  return opened && planFromToken(opened);
}

function effectsCursor(core: Core, planId: string, relation: EffectRelation, offset: number): string {
  return sealText(core, EFFECTS_CURSOR, { plan_id: planId, relation, offset });
}

/** The rest of a large set. The plan is made again; when it is no longer the same one, there is no rest to show. */
export function readEffects(core: Core, who: Who, planId: string, cursor: string): JsonObject {
  const plan = core.plans.get(planId);
  if (plan === undefined || plan.tenant !== who.tenant || plan.actor !== who.actor) {
    throw new Denied("not_found", "there is no such plan");
  }
  const at = openText(core, EFFECTS_CURSOR, cursor);
  if (at === undefined || at["plan_id"] !== planId)
    throw new Denied("cursor_invalid", "this cursor is of another plan");
  const planned = planMembership(core, who, plan.version, plan.intent);
  if (planned.equivalence !== plan.equivalence || core.clock.wallMs() >= plan.expires_at_ms) {
    throw new Denied("plan_stale", "what the plan would do has changed, or it expired");
  }
  const relation = at["relation"] as EffectRelation;
  const offset = Number(at["offset"]);
  const all = planned.effects[relation];
  const end = offset + defaults.referenceEffectsPage;
  return {
    relation,
    total: all.length,
    data: all.slice(offset, end),
    next_cursor: end < all.length ? effectsCursor(core, planId, relation, end) : null,
  };
}

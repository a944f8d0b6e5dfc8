import { digestPlan, type Effects, groupEffects } from "../../../../src/conventions/plan/effects.ts";
import { isExecutable, type Preview, type Validation } from "../../../../src/conventions/plan/record.ts";
import type { TargetRecord } from "../../../../src/conventions/rollback/record.ts";
import { classifyReversibility } from "../../../../src/conventions/rollback/reversibility.ts";
import { digestJson } from "../../../../src/kernel/canonical-json.ts";
import { isoTime } from "../../../../src/kernel/clock.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Who } from "../context.ts";
import type { Core } from "../core.ts";
import { carryOut, type Planned } from "../plan/execute.ts";
import type { Tables } from "../tables.ts";
import { findRelease, type Promoted, promoteRelease } from "./promote.ts";
import type { PromotionIntent, PromotionPlan } from "./shelf.ts";
import { readTarget } from "./target.ts";

interface PlannedPromotion extends Planned {
  readonly target: TargetRecord;
}

/** What a promotion would change. Nothing is written anywhere: the plan goes on a shelf in memory. */
export function previewPromotion(core: Core, who: Who, intent: PromotionIntent): Preview {
  const planned = planPromotion(core, who, intent);
  const executable = isExecutable(planned.validation);
  const plan: PromotionPlan = {
    plan_id: core.identify("pln"),
    tenant: who.tenant,
    actor: who.actor,
    intent,
    request_digest: planned.requestDigest,
    equivalence: planned.equivalence,
    read_revisions: planned.readRevisions,
    expires_at_ms: core.clock.wallMs() + defaults.planMs,
  };
  if (executable) core.promotions.put(plan, core.clock.wallMs());
  return {
    mode: "preview",
    executable,
    validation: planned.validation,
    plan_id: executable ? plan.plan_id : null,
    expires_at: executable ? isoTime(plan.expires_at_ms) : null,
    request_digest: planned.requestDigest,
    read_revisions: planned.readRevisions,
    // Two effects at most: there is never a rest to page through.
    effects: groupEffects(planned.effects, defaults.planSample, () => ""),
    assumptions: [],
  };
}

/** The same promotion as without a plan, as long as the target is still what the preview read. */
export function executePromotion(
  core: Core,
  who: Who,
  plan: PromotionPlan | undefined,
  expectedRevision: string,
): Promoted {
  const { tenant, actor } = who;
  const again = ({ intent }: PromotionPlan) => planPromotion(core, who, intent);
  return carryOut(core, who, plan, expectedRevision, again, ({ intent }, { target }) =>
    promoteRelease(core, target, { tenant, actor, releaseId: intent.release }),
  );
}

function planPromotion(core: Core, { tenant }: Who, intent: PromotionIntent): PlannedPromotion {
  const target = readTarget(core, tenant, intent.environment);
  const release = findRelease(core, tenant, intent.release);
  if (release === undefined) throw new Denied("release_unknown", "no release has this digest");
  const readRevisions = [{ resource: `environments/${target.environment}`, revision: `g${target.generation}` }];
  const effects = effectsOf(target, release);
  const requestDigest = digestJson(intent);
  return {
    validation: validate(core, tenant, target, release),
    readRevisions,
    effects,
    requestDigest,
    equivalence: digestPlan(requestDigest, readRevisions, effects),
    target,
  };
}

function effectsOf(target: TargetRecord, { release_id }: Tables["releases"]): Effects {
  const resource = `environments/${target.environment}`;
  const before = target.active_deployment_id;
  const direct = {
    resource,
    revision: `g${target.generation}`,
    previous: { release_id: target.release_id },
    proposed: { release_id },
    cause: "request",
  };
  const overtaken = {
    resource: `deployments/${before}`,
    revision: null,
    previous: { current: true },
    proposed: { current: false, can_be_rolled_back: false },
    cause: resource,
  };
  return { direct: [direct], derived: before === null ? [] : [overtaken], separate: [] };
}

/** Nothing here blocks: each is something that a person would want to have read before. */
function validate(
  core: Core,
  tenant: string,
  target: TargetRecord,
  release: Tables["releases"],
): readonly Validation[] {
  const found: Validation[] = [];
  const warn = (code: string, message: string): void =>
    void found.push({ severity: "warning", code, path: "/release", message, blocks_execution: false, repair: null });
  if (target.release_id === release.release_id) warn("release_unchanged", "this release is there already");
  const prior = target.release_id === null ? undefined : findRelease(core, tenant, target.release_id);
  const { release_id, artifact_digest, source_revision, config_digest, migration_set_id, migrations } = release;
  const reversibility = classifyReversibility(
    {
      ...{ deployment_id: "", environment: target.environment, release_id, artifact_digest, source_revision },
      ...{ config_digest, migration_set_id, prior_release_id: target.release_id, actor_id: "" },
      created_target_generation: target.generation + 1,
    },
    { priorConfigDigest: prior?.config_digest ?? null, migrations },
  );
  if (reversibility === "needing_repair") warn("rollback_needs_repair", "a rollback alone would not undo it");
  return found;
}

import type { Effects } from "../../../../src/conventions/plan/effects.ts";
import { decideExecution } from "../../../../src/conventions/plan/lifecycle.ts";
import { isExecutable, type ReadRevision, type Validation } from "../../../../src/conventions/plan/record.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Who } from "../context.ts";
import { type Core, nowIso } from "../core.ts";
import type { ShelvedPlan } from "./shelf.ts";

/** What one intent would do to the present state. Preview and execution both make it, and making it only reads. */
export interface Planned {
  readonly validation: readonly Validation[];
  readonly readRevisions: readonly ReadRevision[];
  readonly effects: Effects;
  readonly requestDigest: string;
  readonly equivalence: string;
}

/**
 * Carries out one previewed plan. The plan is made again inside the write transaction and must come out the same; then
 * all of it is applied, or none. `replan` gives nothing where the same intent is refused today.
 */
export function carryOut<Plan extends ShelvedPlan, Now extends Planned, Result>(
  core: Core,
  who: Who,
  plan: Plan | undefined,
  expectedRevision: string,
  replan: (plan: Plan) => Now | undefined,
  apply: (plan: Plan, planned: Now) => Result,
): Result {
  if (plan === undefined || plan.tenant !== who.tenant) throw notFound();
  return core.store.write(() => {
    const used = isUsed(core, plan.plan_id);
    const planned = replan(plan);
    const decision = decideExecution(
      {
        caller: plan.actor,
        requestDigest: plan.request_digest,
        equivalence: plan.equivalence,
        readRevisions: plan.read_revisions,
        expiresAtMs: plan.expires_at_ms,
        state: used ? "executed" : "previewed",
      },
      {
        caller: who.actor,
        nowMs: core.clock.wallMs(),
        expectedRevision,
        requestDigest: planned?.requestDigest ?? "",
        readRevisions: planned?.readRevisions ?? [],
        equivalence: planned !== undefined && isExecutable(planned.validation) ? planned.equivalence : null,
      },
    );
    switch (decision.kind) {
      case "not_found":
        throw notFound();
      case "used":
        throw usedBefore();
      case "stale":
        throw stale(decision.changed);
      case "execute":
        if (planned === undefined) throw stale(["effects"]);
        markUsed(core, who, plan);
        return apply(plan, planned);
    }
  });
}

/** A plan that is no longer on the shelf, but was executed by the same caller before a restart. */
export function refuseUsed(core: Core, who: Who, planId: string | undefined): undefined {
  if (planId === undefined) return undefined;
  const { store } = core;
  const used = store.one(
    store.db
      .selectFrom("plan_executions")
      .select("executed_at")
      .where("plan_id", "=", planId)
      .where("tenant_id", "=", who.tenant)
      .where("actor_id", "=", who.actor),
  );
  if (used !== undefined) throw usedBefore();
  return undefined;
}

function isUsed(core: Core, planId: string): boolean {
  const { store } = core;
  const query = store.db.selectFrom("plan_executions").select("executed_at").where("plan_id", "=", planId);
  return store.one(query) !== undefined;
}

function markUsed(core: Core, { tenant, actor }: Who, { plan_id, equivalence }: ShelvedPlan): void {
  const { store } = core;
  const used = { plan_id, tenant_id: tenant, actor_id: actor, equivalence, executed_at: nowIso(core) };
  store.run(store.db.insertInto("plan_executions").values(used));
}

function notFound(): Denied {
  return new Denied("not_found", "there is no such plan");
}

function usedBefore(): Denied {
  return new Denied("plan_used", "this plan was executed before");
}

function stale(changed: readonly string[]): Denied {
  return new Denied("plan_stale", `no longer as previewed: ${changed.join(", ")}`, { extra: { changed } });
}

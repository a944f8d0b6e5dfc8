import { createHash } from "node:crypto";
import type { TargetRecord } from "../../../../src/conventions/rollback/record.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { Who } from "../context.ts";
import type { Core } from "../core.ts";
import { prepared } from "../prepared.ts";

export const environments = ["staging", "production"] as const;

const targetOf = prepared((db, p: { readonly tenant: string; readonly environment: string }) =>
  db
    .selectFrom("targets")
    .select(["environment", "release_id", "generation", "active_deployment_id", "updated_at"])
    .where("tenant_id", "=", p.tenant)
    .where("environment", "=", p.environment),
);

export function readTarget(core: Core, tenant: string, environment: string): TargetRecord {
  const target = core.store.one(targetOf({ tenant, environment }));
  if (target === undefined) throw new Denied("not_found", "there is no such environment");
  return target;
}

/** Changes on every transition, because the generation does; it tells nothing else. */
export function entityTag(tenant: string, target: TargetRecord): string {
  const text = JSON.stringify([tenant, target.environment, target.generation, target.release_id]);
  return `"g${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;
}

/** Strong comparison: a weak tag never matches. */
export function requireMatch(who: Who, target: TargetRecord, required: boolean): void {
  const { ifMatch } = who.fields;
  if (ifMatch === undefined) {
    if (required) throw new Denied("precondition_required", "send If-Match with the entity tag of the environment");
    return;
  }
  if (ifMatch === entityTag(who.tenant, target)) return;
  throw new Denied("precondition_failed", "the environment has changed since it was read", {
    extra: { observed_target_generation: target.generation, observed_release_id: target.release_id },
  });
}

type Move = {
  readonly release_id: string;
  readonly active_deployment_id: string;
  readonly updated_at: string;
};

const compareAndSet = prepared(
  (db, p: Move & { tenant: string; environment: string; generation: number; next: number }) =>
    db
      .updateTable("targets")
      .set({
        release_id: p.release_id,
        active_deployment_id: p.active_deployment_id,
        updated_at: p.updated_at,
        generation: p.next,
      })
      .where("tenant_id", "=", p.tenant)
      .where("environment", "=", p.environment)
      .where("generation", "=", p.generation),
);

/** Compare and set: false when the generation is not the one that the decision was made on. */
export function moveTarget(core: Core, tenant: string, from: TargetRecord, to: Move): boolean {
  const { environment, generation } = from;
  return core.store.run(compareAndSet({ tenant, environment, generation, next: generation + 1, ...to })) === 1;
}

import { type Digest, digestJson } from "../../kernel/canonical-json.ts";
import type { EffectGroup, EffectRelation, PlanEffect, ReadRevision } from "./record.ts";

/** All effects of one intent, in a stable order. */
export type Effects = { readonly [Relation in EffectRelation]: readonly PlanEffect[] };

const relations: readonly EffectRelation[] = ["direct", "derived", "separate"];

/** The groups as a preview shows them: empty ones are left out, large ones are cut to a sample with a cursor. */
export function groupEffects(
  effects: Effects,
  sampleSize: number,
  cursorFor: (relation: EffectRelation, offset: number) => string,
): readonly EffectGroup[] {
  return relations
    .filter((relation) => effects[relation].length > 0)
    .map((relation) => {
      const all = effects[relation];
      const sample = all.slice(0, sampleSize);
      const next_cursor = all.length > sample.length ? cursorFor(relation, sample.length) : null;
      return { relation, total: all.length, sample, next_cursor };
    });
}

/** Two plans are equivalent when the same intent, read from the same revisions, has the same effects. */
export function digestPlan(requestDigest: string, revisions: readonly ReadRevision[], effects: Effects): Digest {
  return digestJson({ request_digest: requestDigest, read_revisions: revisions, effects });
}

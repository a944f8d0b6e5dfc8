import type { ReadRevision } from "./record.ts";

/** `rejected` is the answer to one execution; the plan itself can then only be replaced by a new preview. */
export type PlanState = "previewed" | "executed" | "rejected";

/** A plan as it was previewed, with all that its execution is held against. */
export interface StoredPlan {
  readonly caller: string;
  readonly requestDigest: string;
  readonly equivalence: string;
  readonly readRevisions: readonly ReadRevision[];
  readonly expiresAtMs: number;
  readonly state: PlanState;
}

/** What is true at the moment of execution, read inside the transaction that would write. */
export interface ExecutionFacts {
  readonly caller: string;
  readonly nowMs: number;
  readonly expectedRevision: string;
  /** The digest of the request that would be carried out. */
  readonly requestDigest: string;
  readonly readRevisions: readonly ReadRevision[];
  /** Null when the plan could not be made again: equivalence cannot be guaranteed then. */
  readonly equivalence: string | null;
}

export type ExecutionDecision =
  | { readonly kind: "execute"; readonly next: "executed" }
  /** Another caller's plan does not exist for this one. */
  | { readonly kind: "not_found" }
  | { readonly kind: "used"; readonly state: Exclude<PlanState, "previewed"> }
  /** `plan_stale`: a new preview is required. `changed` names each input that no longer holds. */
  | { readonly kind: "stale"; readonly next: "rejected"; readonly changed: readonly string[] };

/** The plan lifecycle of the specification: caller, digest, expiry and read revisions all verify, or nothing happens. */
export function decideExecution(plan: StoredPlan, facts: ExecutionFacts): ExecutionDecision {
  if (plan.caller !== facts.caller) return { kind: "not_found" };
  if (plan.state !== "previewed") return { kind: "used", state: plan.state };
  const changed: string[] = [];
  if (facts.nowMs >= plan.expiresAtMs) changed.push("expires_at");
  if (plan.requestDigest !== facts.requestDigest) changed.push("request_digest");
  if (plan.readRevisions[0]?.revision !== facts.expectedRevision) changed.push("expected_revision");
  changed.push(...changedRevisions(plan.readRevisions, facts.readRevisions));
  if (changed.length === 0 && plan.equivalence !== facts.equivalence) changed.push("effects");
  return changed.length > 0 ? { kind: "stale", next: "rejected", changed } : { kind: "execute", next: "executed" };
}

function changedRevisions(before: readonly ReadRevision[], now: readonly ReadRevision[]): readonly string[] {
  const seen = new Map(now.map(({ resource, revision }) => [resource, revision]));
  const gone = before
    .filter(({ resource, revision }) => seen.get(resource) !== revision)
    .map(({ resource }) => resource);
  const known = new Set(before.map(({ resource }) => resource));
  return [...gone, ...now.map(({ resource }) => resource).filter((resource) => !known.has(resource))];
}

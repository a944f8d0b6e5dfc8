/**
 * Preview and execution: what a preview says, and when an approved plan may still be carried out. The provider and the
 * gateway share these records and rules; a preview computes the effects of exactly the intent that execution applies.
 */
import type { JsonValue } from "../../kernel/json.ts";

export type ReadRevision = { readonly resource: string; readonly revision: string };

/** An error says that the same input against the same state would not execute, a warning that it would. */
export type Validation = {
  readonly severity: "error" | "warning";
  readonly code: string;
  /** JSON Pointer into the plan request. */
  readonly path: string;
  readonly message: string;
  readonly blocks_execution: boolean;
  /** Null where nobody should invent one. */
  readonly repair: string | null;
};

/** `separate` effects cannot join the transaction; each names the action that would make up for it. */
export type EffectRelation = "direct" | "derived" | "separate";

export type PlanEffect = {
  /** A stable identifier of what is affected. */
  readonly resource: string;
  /** Null where the resource has no revisions or does not exist yet. */
  readonly revision: string | null;
  readonly previous: JsonValue;
  readonly proposed: JsonValue;
  readonly cause: string;
  readonly compensating_action?: string;
};

/** Direct and derived effects stand apart, each set as its total, a bounded sample, and a cursor for the rest. */
export type EffectGroup = {
  readonly relation: EffectRelation;
  readonly total: number;
  readonly sample: readonly PlanEffect[];
  readonly next_cursor: string | null;
};

/** A dependency that the preview took for granted, and whether execution may go on without it. */
export type Assumption = {
  readonly dependency: string;
  readonly assumed: string;
  readonly may_proceed_without: boolean;
};

export type Preview = {
  readonly mode: "preview";
  readonly executable: boolean;
  readonly validation: readonly Validation[];
  /** Null when nothing could be executed. */
  readonly plan_id: string | null;
  readonly expires_at: string | null;
  readonly request_digest: string;
  readonly read_revisions: readonly ReadRevision[];
  readonly effects: readonly EffectGroup[];
  readonly assumptions: readonly Assumption[];
};

export function isExecutable(validation: readonly Validation[]): boolean {
  return !validation.some((entry) => entry.blocks_execution);
}

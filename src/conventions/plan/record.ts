/**
 * Preview and execution: what a preview says, and when an approved plan may still be carried out. The provider and the
 * gateway share these records and rules; a preview computes the effects of exactly the intent that execution applies.
 */
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import { anyValue, flag, list, object, text, textOrNull } from "../../../packages/request/src/shape.ts";

const readRevision = object({ resource: text, revision: text });

/** An error says that the same input against the same state would not execute, a warning that it would. */
const validation = object({
  severity: { enum: ["error", "warning"] },
  code: text,
  /** JSON Pointer into the plan request. */
  path: text,
  message: text,
  blocks_execution: flag,
  /** Null where nobody should invent one. */
  repair: textOrNull,
});

const planEffect = object(
  {
    /** A stable identifier of what is affected. */
    resource: text,
    /** Null where the resource has no revisions or does not exist yet. */
    revision: textOrNull,
    previous: anyValue,
    proposed: anyValue,
    cause: text,
  },
  { compensating_action: text },
);

/** Direct and derived effects stand apart, each set as its total, a bounded sample, and a cursor for the rest. */
const effectGroup = object({
  /** `separate` effects cannot join the transaction; each names the action that would make up for it. */
  relation: { enum: ["direct", "derived", "separate"] },
  total: { type: "number" },
  sample: list(planEffect),
  next_cursor: textOrNull,
});

/** A dependency that the preview took for granted, and whether execution may go on without it. */
const assumption = object({ dependency: text, assumed: text, may_proceed_without: flag });

/** What is shown of a preview wherever it is shown. */
export const previewShown = {
  expires_at: text,
  validation: list(validation),
  read_revisions: list(readRevision),
  effects: list(effectGroup),
  assumptions: list(assumption),
} as const;

export type ReadRevision = FromSchema<typeof readRevision>;
export type Validation = FromSchema<typeof validation>;
export type PlanEffect = FromSchema<typeof planEffect>;
export type EffectGroup = FromSchema<typeof effectGroup>;
export type EffectRelation = EffectGroup["relation"];
export type Assumption = FromSchema<typeof assumption>;

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

/** A plan as the agent sees it. `expected_revision` is what execution asks for. */
export const planSchema = object({
  mode: { const: "preview" },
  executable: flag,
  plan_id: text,
  run_id: text,
  action: text,
  preview_action: text,
  state: text,
  request_digest: text,
  expected_revision: text,
  execute: object({ method: text, path: text }),
  ...previewShown,
});

export type PlanRecord = FromSchema<typeof planSchema>;

export function isExecutable(validation: readonly Validation[]): boolean {
  return !validation.some((entry) => entry.blocks_execution);
}

import { parseJson } from "../../../packages/request/src/json/parse.ts";
import { compileSchema, type JsonSchema } from "../../../packages/request/src/schema.ts";
import type { RunLimits } from "../../conventions/budget/budget.ts";
import { type LimitsRecord, readLimits } from "../../conventions/budget/record.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { type RunId, readId } from "../../kernel/ids.ts";

/** The word that turns an agent connection into one that carries lines of JSON-RPC. */
export const MCP_UPGRADE = "gw-mcp";
export const MCP_PATH = "/mcp";
/** What the bridge asks for, as one JSON object. It grants nothing: a person sees it on the card. */
export const MCP_OPTIONS_HEADER = "gw-run";

export interface BridgeOptions {
  /** PACK.ACTION or PACK.*, asked for together; null offers all that trusted packs define, and asks for what each call needs. */
  readonly actions: readonly string[] | null;
  readonly limits: RunLimits;
  /** How long a tool call waits for a person before it answers that it is pending. */
  readonly waitMs: number;
  /** The run of a `gw run` above the bridge. Whether the bridge belongs to it is for the gateway to find out. */
  readonly wrapped: RunId | null;
}

const schema = {
  type: "object",
  properties: {
    actions: { type: "array", items: { type: "string", minLength: 3, maxLength: 300 }, minItems: 1, maxItems: 200 },
    budget: {
      type: "object",
      properties: {
        attempts: { type: "integer", minimum: 1, maximum: defaults.runMaximumAttempts },
        side_effects: { type: "integer", minimum: 0, maximum: defaults.runMaximumSideEffects },
        duration_seconds: { type: "integer", minimum: 1, maximum: defaults.runMaximumDurationMs / 1000 },
        spend_cents: { type: "integer", minimum: 0, maximum: defaults.runMaximumSpendCents },
      },
    },
    wait_seconds: { type: "integer", minimum: 1, maximum: defaults.mcpWaitMs / 1000 },
    wrapped_by: { type: "string", maxLength: 64 },
  },
} as const satisfies JsonSchema;

const check = compileSchema(schema);

export interface BridgeRecord {
  readonly actions?: readonly string[];
  readonly budget?: Partial<LimitsRecord>;
  readonly wait_seconds?: number;
  readonly wrapped_by?: string;
}

const standardLimits: RunLimits = {
  attempts: defaults.runAttempts,
  sideEffects: defaults.runSideEffects,
  durationMs: defaults.runDurationMs,
  spendCents: defaults.runSpendCents,
};

export function readBridgeOptions(header: string | undefined): BridgeOptions {
  const { value, spelling } = parseJson(Buffer.from(header ?? "{}", "latin1"));
  const errors = check(value, spelling);
  if (errors.length > 0) throw new Denied("schema_violation", `${MCP_OPTIONS_HEADER} does not fit.`, { errors });
  const { actions = null, budget = {}, wait_seconds, wrapped_by } = value as BridgeRecord;
  return {
    actions,
    limits: readLimits(budget, standardLimits),
    waitMs: wait_seconds === undefined ? defaults.mcpWaitMs : wait_seconds * 1000,
    wrapped: wrapped_by === undefined ? null : (readId("run", wrapped_by) ?? null),
  };
}

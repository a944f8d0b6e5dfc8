import type { Tool } from "@modelcontextprotocol/server";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Effect } from "../../conventions/action/pack.ts";
import { type JobErrand, jobErrandNames } from "../../conventions/operation/errand.ts";
import { type Definition, reachOf } from "../../gateway/outbound/outbound.ts";
import { toolSchema } from "../plane/list.ts";
import { toolNameOf } from "./names.ts";
import {
  accessInput,
  accessSchema,
  budgetSchema,
  closeSchema,
  executionInput,
  noInput,
  outcomeSchema,
  reasonedInput,
  reconcileInput,
  repeatInput,
  waitedSchema,
  waitInput,
} from "./schemas.ts";

/** For a model, which reads no more than this. */
const ERRANDS: Readonly<Record<JobErrand, Pick<Tool, "title" | "description">>> = {
  cancel: {
    title: "Ask the provider to stop an operation",
    description:
      "Asks the provider to stop a job. It may still succeed or fail: read its end with gw_wait and the operation_id.",
  },
  resume: {
    title: "Ask the provider to go on with an operation that failed",
    description:
      "Asks the provider to go on with a job that failed, where its provider documents that. Read its end with gw_wait and the operation_id; never start the same work anew instead.",
  },
};

function errandTool(errand: JobErrand): string {
  return `gw_${errand}_operation`;
}

export function errandOf(tool: string): JobErrand | undefined {
  return jobErrandNames.find((errand) => errandTool(errand) === tool);
}

/** The tools that are there for every agent, whatever it may do. */
export const ownTools: readonly Tool[] = [
  {
    name: "gw_budget",
    title: "Budget of this run",
    description: "What this run may still do: attempts, side effects, time and money, and what stopped it.",
    inputSchema: inputOf(noInput),
    outputSchema: { ...budgetSchema, required: [...budgetSchema.required] },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: "gw_wait",
    title: "Wait for a pending result",
    description:
      "Gives the result of a call or of an access request that was pending. Use it instead of calling the tool again: that would be a second call.",
    inputSchema: inputOf(waitInput),
    outputSchema: { ...waitedSchema, required: [...waitedSchema.required] },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: "gw_request_access",
    title: "Ask the operator for more",
    description:
      "Asks the person who operates this gateway for actions or credentials that this run does not have. They decide in their own terminal; you get their answer.",
    inputSchema: inputOf(accessInput),
    outputSchema: { ...accessSchema, required: [...accessSchema.required] },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
  {
    name: "gw_reconcile",
    title: "Find out what became of an operation",
    description:
      "Asks the system that owns the state what became of an operation whose outcome is unknown. It starts nothing a second time.",
    inputSchema: inputOf(reconcileInput),
    outputSchema: { ...waitedSchema, required: [...waitedSchema.required] },
    // Where the definition says so it repeats the request under its own token, which may be the first to arrive.
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  },
  {
    name: "gw_repeat_call",
    title: "Ask the operator for a second call although the same one is open",
    description:
      "Only after a call was refused as outcome_unsettled and the open operation cannot tell what happened: asks the person for a second one. They see what is open; if they agree it is sent once.",
    inputSchema: inputOf(repeatInput),
    outputSchema: { ...outcomeSchema, required: [...outcomeSchema.required] },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  ...jobErrandNames.map(
    (errand): Tool => ({
      name: errandTool(errand),
      ...ERRANDS[errand],
      inputSchema: inputOf(reasonedInput),
      outputSchema: { ...outcomeSchema, required: [...outcomeSchema.required] },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    }),
  ),
];

const described = new WeakMap<Definition["action"], Tool>();

/** An action as a tool. Definitions do not change while they are loaded, so that each is written once. */
export function toolOf(definition: Definition): Tool {
  const { action } = definition;
  const known = described.get(action);
  if (known !== undefined) return known;
  const tool: Tool = {
    name: toolNameOf(action.qualifiedName),
    title: action.qualifiedName,
    description: describeAction(definition),
    inputSchema: inputOf(action.needs.plan === null ? toolSchema(action) : executionInput),
    outputSchema: { ...outcomeSchema, required: [...outcomeSchema.required] },
    annotations: annotationsOf(action.effect),
  };
  described.set(action, tool);
  return tool;
}

/** Ours first, then the actions by name: the same packs and scope give the same list. */
export function listTools(definitions: readonly Definition[]): Tool[] {
  const tools = definitions.map(toolOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  return [...ownTools, ...tools];
}

function describeAction(definition: Definition): string {
  const { action } = definition;
  const { method, path, destination } = reachOf(definition);
  const lines = [
    ...(action.description === null ? [] : [action.description]),
    `${action.qualifiedName}: ${method} ${path} at ${destination}, effect: ${action.effect}.`,
  ];
  if (action.needs.approval === "each_use" || action.effect === "purchase" || action.asksEachCall) {
    lines.push("A person approves every call of it.");
  }
  if (action.needs.plan !== null) {
    const preview = toolNameOf(`${definition.pack.name}.${action.needs.plan}`);
    lines.push(
      `It carries out a plan: call ${preview} first, then this with the plan_id and expected_revision of its plan.`,
    );
  }
  if (action.maxCostCents !== null) lines.push(`It costs at most ${action.maxCostCents} cents.`);
  return lines.join("\n");
}

/** Hints for the client's own interface. Nothing here decides: the gateway asks by the definition's effect. */
function annotationsOf(effect: Effect): NonNullable<Tool["annotations"]> {
  switch (effect) {
    case "read":
    case "preview":
      return { readOnlyHint: true, openWorldHint: true };
    case "create":
      return { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };
    case "write":
    case "send":
    case "purchase":
      // Two calls are two effects: the token that makes a retry safe is the gateway's, one for each call.
      return { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
  }
}

function inputOf(schema: JsonSchema): Tool["inputSchema"] {
  return { ...closeSchema(schema), type: "object" } as Tool["inputSchema"];
}

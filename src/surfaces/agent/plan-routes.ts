import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { readId } from "../../kernel/ids.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { callAnswers } from "./answers.ts";
import type { AgentContext } from "./context.ts";
import { answerWaiting, anyCaller, callSchema, repeatOf, runParams } from "./wait.ts";

/** Preview, then execution by the plan alone: neither takes a second copy of the request. */
export function planRoutes(gateway: Gateway, sleep: Sleep): readonly PlaneRoute<AgentContext>[] {
  return [
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/plans",
        params: runParams,
        body: { kind: "json", schema: callSchema },
        recorded: ["/params/run_id", "/body/action", "/body/input"],
      },
      {
        summary: "Preview an action: what it would change, as a plan that can be executed once",
        answers: callAnswers,
      },
      async ({ params, body }, context, _files, _known, spelling) => {
        const { caller, traceparent } = context;
        const call = gateway.startPlan(caller, readId("run", params.run_id), { ...body, spelling, traceparent });
        return answerWaiting(gateway, call, context, sleep);
      },
      anyCaller,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/plans/{plan_id}/execute",
        params: planParams,
        body: { kind: "json", schema: executeSchema },
        recorded: ["/params/plan_id", "/body/expected_revision"],
      },
      {
        summary: "Execute a plan: its identifier and the revision that was read, nothing else",
        answers: {
          ...callAnswers,
          409: { description: "plan_stale with what changed, or plan_used" },
        },
      },
      async ({ params, body }, context) => {
        const { caller, traceparent } = context;
        const { expected_revision, repeat_of } = body;
        const more = { traceparent, ...(repeat_of === undefined ? {} : { repeatOf: repeat_of }) };
        const call = gateway.startExecution(caller, readId("plan", params.plan_id), expected_revision, more);
        return answerWaiting(gateway, call, context, sleep);
      },
      anyCaller,
    ),
  ];
}

const planParams = {
  type: "object",
  properties: { plan_id: { type: "string", maxLength: 64 } },
  required: ["plan_id"],
} as const satisfies JsonSchema;

const executeSchema = {
  type: "object",
  properties: { expected_revision: { type: "string", minLength: 1, maxLength: 256 }, repeat_of: repeatOf },
  required: ["expected_revision"],
} as const satisfies JsonSchema;

import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Answer } from "../../../packages/request/src/serve.ts";
import { boxTiers } from "../../conventions/box/plan.ts";
import { type LimitsRecord, readLimits } from "../../conventions/budget/record.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { pendingSession, type Run } from "../../gateway/run/run.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { readId } from "../../kernel/ids.ts";
import { withDocument } from "../plane/document.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { actionsAnswer, callAnswers, runAnswer } from "./answers.ts";
import { containedRoutes } from "./contained-routes.ts";
import type { AgentContext } from "./context.ts";
import { operationRoutes } from "./operation-routes.ts";
import { planRoutes } from "./plan-routes.ts";
import { actionRecord, runRecord } from "./records.ts";
import { tellWithEnd } from "./tell-with-end.ts";
import { answerWaiting, anyCaller, repeatableCallSchema, runParams, waitFor } from "./wait.ts";

/** The agent plane. Nothing that can be reached here approves, unlocks, shows a secret, changes policy or reads a journal. */
export function agentRoutes(gateway: Gateway, sleep: Sleep, version: string): readonly PlaneRoute<AgentContext>[] {
  const routes: PlaneRoute<AgentContext>[] = [
    planeRoute(
      { method: "GET", path: "/v1/actions", body: { kind: "none" } },
      {
        summary: "The actions that trusted packs define",
        answers: { 200: { description: "A list of actions", schema: actionsAnswer } },
      },
      () => ({ status: 200, body: gateway.actions().map(actionRecord) }),
      anyCaller,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs",
        body: { kind: "json", schema: runSchema },
        recorded: [
          "/body/purpose",
          "/body/actions",
          "/body/budget",
          "/body/descendants",
          "/body/contained",
          "/body/box_tier",
          "/body/proxied",
          "/body/command",
          "/body/call_follows",
        ],
      },
      {
        summary: "Open a run: one budgeted piece of work, which a person approves",
        answers: {
          201: { description: "Approved and open", schema: runAnswer },
          202: { description: "Waiting for a person", schema: runAnswer },
        },
      },
      async ({ body }, context) => {
        const { caller } = context;
        const limits = readLimits((body.budget ?? {}) as Partial<LimitsRecord>, standardLimits);
        const { purpose, actions, descendants = false, contained = false, proxied = false, command } = body;
        const wrapped = {
          ...(command === undefined ? {} : { command }),
          ...(body.box_tier === undefined ? {} : { boxTier: body.box_tier }),
        };
        const run = await gateway.openRun(caller, {
          ...{ purpose, actions, limits, descendants, contained, proxied, ...wrapped },
          opensWithCall: body.call_follows ?? false,
        });
        await waitFor(pendingSession(run, caller.key), context, sleep);
        return answerRun(run, caller.key, 201);
      },
      anyCaller,
    ),
    planeRoute(
      {
        method: "GET",
        path: "/v1/runs/{run_id}",
        params: runParams,
        body: { kind: "none" },
        recorded: ["/params/run_id"],
      },
      {
        summary: "A run of this caller",
        answers: { 200: { description: "The run, its scope and its budget", schema: runAnswer } },
      },
      async ({ params }, context) => {
        const { caller } = context;
        const run = gateway.run(caller, readId("run", params.run_id));
        await waitFor(pendingSession(run, caller.key), context, sleep);
        return answerRun(run, caller.key, 200);
      },
      anyCaller,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/join",
        params: runParams,
        body: { kind: "none" },
        recorded: ["/params/run_id"],
      },
      {
        summary: "Ask to join a run that another process of this user opened; a person decides",
        answers: {
          200: { description: "Joined", schema: runAnswer },
          202: { description: "Waiting for a person", schema: runAnswer },
        },
      },
      async ({ params }, context) => {
        const { caller } = context;
        const run = await gateway.joinRun(caller, readId("run", params.run_id));
        await waitFor(pendingSession(run, caller.key), context, sleep);
        return answerRun(run, caller.key, 200);
      },
      anyCaller,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/calls",
        params: runParams,
        body: { kind: "json", schema: repeatableCallSchema },
        recorded: ["/params/run_id", "/body/repeat_of", "/body/action", "/body/input", "/body/list"],
      },
      {
        summary: "Call an action within a run",
        answers: {
          ...callAnswers,
          409: { description: "outcome_unsettled: the same call is open, and is named; nothing was sent" },
        },
      },
      ({ params, body }, context, _files, known, spelling) => {
        const { action, input, list, repeat_of: repeatOf } = body;
        const { closing, answer } = tellWithEnd(gateway, context, params.run_id, known);
        const request = { action, input, spelling, list, traceparent: context.traceparent, closing, repeatOf };
        return answer(gateway.startCall(context.caller, readId("run", params.run_id), request), sleep);
      },
      anyCaller,
    ),
    planeRoute(
      {
        method: "GET",
        path: "/v1/calls/{call_id}",
        params: callParams,
        body: { kind: "none" },
        recorded: ["/params/call_id"],
      },
      { summary: "A call of this caller", answers: callAnswers },
      async ({ params }, context) => {
        const call = gateway.call(context.caller, readId("call", params.call_id));
        return answerWaiting(gateway, call, context, sleep);
      },
      anyCaller,
    ),
    ...containedRoutes(gateway, sleep),
    ...planRoutes(gateway, sleep),
    ...operationRoutes(gateway, sleep),
  ];
  return withDocument("gw agent plane", version, routes, anyCaller);
}

const standardLimits = {
  attempts: defaults.runAttempts,
  sideEffects: defaults.runSideEffects,
  durationMs: defaults.runDurationMs,
  spendCents: defaults.runSpendCents,
};

const runSchema = {
  type: "object",
  properties: {
    purpose: { type: "string", minLength: 1, maxLength: 500 },
    actions: { type: "array", items: { type: "string", minLength: 3, maxLength: 130 }, minItems: 1, maxItems: 200 },
    budget: {
      type: "object",
      properties: {
        attempts: { type: "integer", minimum: 1, maximum: defaults.runMaximumAttempts },
        side_effects: { type: "integer", minimum: 0, maximum: defaults.runMaximumSideEffects },
        duration_seconds: { type: "integer", minimum: 1, maximum: defaults.runMaximumDurationMs / 1000 },
        spend_cents: { type: "integer", minimum: 0, maximum: defaults.runMaximumSpendCents },
      },
    },
    descendants: { type: "boolean" },
    contained: { type: "boolean" },
    box_tier: { enum: boxTiers },
    proxied: { type: "boolean" },
    command: { type: "array", items: { type: "string", maxLength: 4_000 }, minItems: 1, maxItems: 200 },
    call_follows: { type: "boolean" },
  },
  required: ["purpose", "actions"],
} as const satisfies JsonSchema;

const callParams = {
  type: "object",
  properties: { call_id: { type: "string", maxLength: 64 } },
  required: ["call_id"],
} as const satisfies JsonSchema;

function answerRun(run: Run, callerKey: string, openStatus: 200 | 201): Answer {
  const session = run.sessions.get(callerKey);
  const body = runRecord(run, session);
  if (session !== undefined || run.state === "ended") return { status: openStatus, body };
  const status_path = `/v1/runs/${run.id}`;
  return { status: 202, body: { ...body, status_path }, headers: { location: status_path } };
}

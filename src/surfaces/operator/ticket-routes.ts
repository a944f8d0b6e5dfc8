import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { defaults } from "../../kernel/defaults.ts";
import { readId } from "../../kernel/ids.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { type TicketView, ticketAnswer } from "./answers.ts";
import type { OperatorContext } from "./context.ts";
import { loggedIn, mayRead } from "./permit.ts";

/** Work contexts of runs. There is no such route on the agent plane: an agent does not attest its own reference. */
export function ticketRoutes(gateway: Gateway): readonly PlaneRoute<OperatorContext>[] {
  return [
    planeRoute(
      { method: "GET", path: "/v1/runs/{run_id}/ticket", params: runParams, body: { kind: "none" } },
      {
        summary: "The work context attached to a run, and until when one can be issued",
        answers: { 200: { description: "The run and its ticket, which is null without one", schema: ticketAnswer } },
      },
      ({ params }) => {
        return { status: 200, body: ticketRecord(gateway.ticketOf(readId("run", params.run_id))) };
      },
      mayRead,
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/ticket",
        params: runParams,
        body: { kind: "json", schema: contextSchema },
      },
      {
        summary: "Attach a signed work context to its run",
        answers: { 200: { description: "The run and its ticket", schema: ticketAnswer } },
      },
      async ({ params, body }) => {
        const runId = readId("run", params.run_id);
        await gateway.attachTicket(runId, body.context);
        return { status: 200, body: ticketRecord(gateway.ticketOf(runId)) };
      },
      loggedIn,
    ),
  ];
}

function ticketRecord({ run, evidence, lapsed }: ReturnType<Gateway["ticketOf"]>): TicketView {
  return {
    run_id: run.id,
    state: run.state,
    deadline_at: run.budget.deadlineAt,
    ticket:
      evidence === null
        ? null
        : {
            ...evidence.context,
            issued_by_kind: evidence.issuer.kind,
            scope_digest: evidence.scopeDigest,
            observed_at: evidence.observedAt,
            lapsed: lapsed === null ? null : { code: lapsed.code, message: lapsed.message },
          },
  };
}

const runParams = {
  type: "object",
  properties: { run_id: { type: "string", maxLength: 64 } },
  required: ["run_id"],
} as const satisfies JsonSchema;

const contextSchema = {
  type: "object",
  properties: { context: { type: "string", minLength: 1, maxLength: defaults.ticketContextCharacters } },
  required: ["context"],
} as const satisfies JsonSchema;

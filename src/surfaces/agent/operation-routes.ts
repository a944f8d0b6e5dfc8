import { errandSummary, jobErrandNames } from "../../conventions/operation/errand.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { operationRecord } from "../../gateway/operation/operation.ts";
import { type Sleep, Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { readId } from "../../kernel/ids.ts";
import { operationParams, reasonSchema } from "../plane/operation-schemas.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { callAnswers, operationAnswer } from "./answers.ts";
import type { AgentContext } from "./context.ts";
import { answerWaiting, anyCaller } from "./wait.ts";

/** Work that goes on at the provider: how it stands, asking it to stop or to go on, and finding out what nobody saw. */
export function operationRoutes(gateway: Gateway, sleep: Sleep): readonly PlaneRoute<AgentContext>[] {
  return [
    planeRoute(
      {
        method: "GET",
        path: "/v1/operations/{operation_id}",
        params: operationParams,
        body: { kind: "none" },
        recorded: ["/params/operation_id"],
      },
      {
        summary: "An operation of this caller; with Prefer: wait it is answered when it is settled or the wait is over",
        answers: { 200: { description: "The operation record and its history", schema: operationAnswer } },
      },
      async ({ params }, { caller, waitMs, onGone }) => {
        const operation = gateway.operation(caller, readId("op", params.operation_id));
        const gone = new Waker();
        onGone(() => gone.wake());
        for (let leftMs = waitMs; leftMs > 0 && !isSettled(operation.state); leftMs -= defaults.expiryLookMs) {
          if (operation.problem !== null || gone.aborted) break;
          await sleep.sleep(Math.min(leftMs, defaults.expiryLookMs), gone);
        }
        return { status: 200, body: operationRecord(operation) };
      },
      anyCaller,
    ),
    ...jobErrandNames.map((errand) =>
      planeRoute(
        {
          method: "POST",
          path: `/v1/operations/{operation_id}/${errand}`,
          params: operationParams,
          body: { kind: "json", schema: reasonSchema },
          recorded: ["/params/operation_id", "/body/reason"],
        },
        { summary: errandSummary(errand), answers: callAnswers },
        async ({ params, body }, context) => {
          const { caller, traceparent } = context;
          const id = readId("op", params.operation_id);
          return answerWaiting(
            gateway,
            gateway.startErrand(caller, id, errand, body.reason, traceparent),
            context,
            sleep,
          );
        },
        anyCaller,
      ),
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/operations/{operation_id}/reconcile",
        params: operationParams,
        body: { kind: "none" },
        recorded: ["/params/operation_id"],
      },
      {
        summary: "Ask the state-owning system now what became of it",
        answers: { 200: { description: "The operation record after the read", schema: operationAnswer } },
      },
      async ({ params }, { caller }) => {
        const operation = await gateway.reconcile(caller, readId("op", params.operation_id));
        return { status: 200, body: operationRecord(operation) };
      },
      anyCaller,
    ),
  ];
}

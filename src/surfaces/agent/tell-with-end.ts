import type { KnownOfRequest } from "../../../packages/request/src/record.ts";
import type { Answer } from "../../../packages/request/src/serve.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { CallRequest } from "../../gateway/prepare.ts";
import { nameCaller } from "../../gateway/record/record.ts";
import { UNTOLD } from "../../gateway/record/requests.ts";
import type { Call } from "../../gateway/run/run.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { describeRequest, type Named, safeFields } from "../plane/record-request.ts";
import type { AgentContext } from "./context.ts";
import { answerCall, anyCaller, waitFor } from "./wait.ts";

export function nameAgent({ caller, traceparent }: AgentContext): Named {
  return { who: `uid ${caller.uid}`, principal: nameCaller(caller), operator: null, traceparent };
}

/**
 * The word about the request of a call. Where the call is a plain read that ends while its asker waits, it goes to the
 * disk with that end, before the answer like any other, and costs no flush of its own.
 */
export interface WithEnd {
  readonly closing: NonNullable<CallRequest["closing"]>;
  answer(call: Call, sleep: Sleep): Promise<Answer>;
}

export function tellWithEnd(gateway: Gateway, context: AgentContext, runId: string, known: KnownOfRequest): WithEnd {
  let answered = false;
  return {
    closing(callId) {
      if (answered) return UNTOLD;
      context.told = true;
      return gateway.requests.tellWithEnd(
        describeRequest("agent", nameAgent(context), known, {
          fields: safeFields(known.fields, gateway.definition),
          correlationId: context.correlationId,
          body: () => ({ digest: null, bytes: 0 }),
          outcome: { kind: "answered", decision: anyCaller(context), status: 200, runId, callId },
        }),
      );
    },
    async answer(call, sleep) {
      let waited: CallResult | undefined;
      call.asking++;
      try {
        waited = await waitFor(call.done, context, sleep);
        // The log is being told that the result was the answer: then it is, a flush later.
        if (waited === undefined && context.told === true) waited = await call.done;
      } finally {
        answered = true;
        call.asking--;
      }
      return answerCall(gateway, call, waited, context, sleep);
    },
  };
}

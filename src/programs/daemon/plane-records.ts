import type { Observers } from "../../../packages/request/src/serve.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AgentContext } from "../../surfaces/agent/context.ts";
import { nameAgent } from "../../surfaces/agent/tell-with-end.ts";
import type { CallbackContext } from "../../surfaces/callbacks/routes.ts";
import type { OperatorContext } from "../../surfaces/operator/context.ts";
import { recordRequests, safeFields } from "../../surfaces/plane/record-request.ts";

/** Whoever reaches the operators' socket and has proven no key, all together. */
export const OPERATOR_SOCKET = "operator socket";

/** What each HTTP plane writes down of its requests, and under whose name. */
export function planeRecords(gateway: Gateway): {
  readonly agent: Observers<AgentContext>["onRecord"];
  readonly operator: Observers<OperatorContext>["onRecord"];
  readonly callbacks: Observers<CallbackContext>["onRecord"];
} {
  const { requests } = gateway;
  return {
    agent: recordRequests("agent", requests, nameAgent, (fields) => safeFields(fields, gateway.definition)),
    operator: recordRequests("operator", requests, (context: OperatorContext) => {
      const operator = operatorOf(context);
      return {
        who: operator === null ? OPERATOR_SOCKET : "operators",
        principal: context.name,
        operator,
        traceparent: null,
      };
    }),
    callbacks: recordRequests("callbacks", requests, ({ peer }: CallbackContext) => ({
      who: "strangers",
      principal: peer,
      operator: null,
      traceparent: null,
    })),
  };
}

function operatorOf(context: OperatorContext): string | null {
  try {
    return context.login().operator;
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

import type { JobAction } from "../../conventions/action/pack.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { authorizedByOperator } from "../approval/authorize.ts";
import { attempt } from "../attempt/attempt.ts";
import { bindRead } from "../attempt/bind-read.ts";
import { keyOf, openClaim } from "../attempt/claim.ts";
import type { Attempted, CustodySending } from "../attempt/sending.ts";
import { bindDefinition } from "../outbound/admit.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import { sendOf } from "../outbound/request.ts";
import type { OperationNeeds } from "./needs.ts";
import { isOvertaken, operationRow } from "./operation-row.ts";
import type { Operation } from "./operations.ts";
import { readerOf } from "./poll.ts";

/** An action on a job that exists: its identifier goes where the pack says, the rest comes from the creating call. */
export function bindOnJob(
  core: Pick<OperationNeeds, "packs">,
  definition: Definition,
  { action, idInput }: JobAction,
  input: JsonObject,
  remoteJobId: string,
): Outbound {
  const found = readerOf(core, definition, action);
  return bindRead(found, { ...input, [idInput]: remoteJobId }) ?? bindDefinition(found, { [idInput]: remoteJobId });
}

/** An operator acts on it: one send on their own authority, with the credential that the operation was started with. */
export async function sendAsOperator(
  core: OperationNeeds,
  operation: Operation,
  outbound: Outbound,
  operator: string,
  callId: CallId,
  hooks: Pick<CustodySending, "errand" | "beside" | "after">,
): Promise<Attempted> {
  if (outbound.credential !== operation.credential) {
    throw new Denied("definition_changed", "This would use another credential than the operation did.");
  }
  const { budget } = operation.purse;
  const limits = {
    ...budget.limits,
    attempts: Math.max(budget.limits.attempts, budget.attemptsUsed + 1),
    sideEffects: budget.sideEffectAttempts + 1,
  };
  operation.purse.budget = { ...budget, limits };
  return attempt(core, {
    run: operation.purse,
    session: { id: operation.sessionId, caller: { key: `operator ${operator}` } },
    callId,
    outbound,
    authorization: authorizedByOperator(operator, isoTime(core.ports.clock.wallMs())),
    request: sendOf(core, outbound, callId),
    credential: outbound.credential,
    operationId: operation.id,
    claim: openClaim(keyOf(outbound, null)),
    custody: () => (isOvertaken(core, operation) ? null : operationRow(core, operation)),
    ...hooks,
  });
}

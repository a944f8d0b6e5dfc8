import { budgetRecord } from "../../conventions/budget/record.ts";
import { placeholderOf } from "../../conventions/reverse/placeholder.ts";
import { scopeRecord } from "../../conventions/scope/scope.ts";
import type { Definition } from "../../gateway/outbound/outbound.ts";
import type { Call, Run, Session, Tally } from "../../gateway/run/run.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { describeWait } from "../plane/describe-wait.ts";
import type { ActionView, PendingView, RunView } from "./answers.ts";

/** What agents get to see, in the specification's names. None of it says how a person decided or what else exists. */
export function runRecord(run: Run, session: Session | undefined): RunView {
  return {
    run_id: run.id,
    state: run.state,
    purpose: run.purpose,
    created_at: run.createdAt,
    end_reason: run.endReason,
    session_id: session?.id ?? null,
    approval_id: run.admission?.approvalId ?? session?.approvalId ?? null,
    scope: session === undefined ? null : scopeRecord(session.scope),
    budget: budgetRecord(run.budget),
    descendants: run.kin !== null,
    ...(run.contained ? { contained: true } : {}),
    ...(run.proxied ? { proxied: true } : {}),
    ...(run.contained || run.proxied ? { placeholder: placeholderOf(run.id) } : {}),
    calls: tallyRecord(run.tally),
  };
}

function tallyRecord({ calls, success, error, denied, unknown, unknownCalls }: Tally): RunView["calls"] {
  return { started: calls, success, error, denied, unknown, unknown_calls: [...unknownCalls] };
}

export function pendingCallRecord(call: Call): PendingView {
  return {
    call_id: call.id,
    run_id: call.runId,
    action: call.action,
    state: call.state === "pending" ? "pending" : "sending",
    created_at: call.createdAt,
    status_path: `/v1/calls/${call.id}`,
    ...describeWait(call),
  };
}

export function actionRecord({ pack, action }: Definition): ActionView {
  return {
    action: action.qualifiedName,
    pack: pack.name,
    origin: pack.provider?.origin ?? null,
    ...(pack.provider?.tokenVariables.length ? { token_variables: [...pack.provider.tokenVariables] } : {}),
    description: action.description,
    effect: action.effect,
    input: action.schema as unknown as JsonObject,
    needs: { ...action.needs },
    max_cost_cents: action.maxCostCents,
  };
}

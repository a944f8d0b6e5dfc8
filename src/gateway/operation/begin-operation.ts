import type { NewEvent } from "../../audit/event.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import { costRecord } from "../../conventions/budget/record.ts";
import { readJobReport } from "../../conventions/operation/read-status.ts";
import type { OperationTrigger } from "../../conventions/operation/state.ts";
import { adviseAfter } from "../../conventions/outcome/advice.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { closeUnseen, linkClaim } from "../attempt/claim.ts";
import { type Followed, follow, resultOf } from "../attempt/follow.ts";
import { readJson } from "../attempt/read-json.ts";
import { trackedRow } from "../attempt/row.ts";
import type { Attempted, Beside, Claim, Sending } from "../attempt/sending.ts";
import { askOf } from "../outbound/admit.ts";
import { makeToken, tokenOf } from "../outbound/request.ts";
import { partyOf } from "../run/run.ts";
import { nextLease } from "./lease.ts";
import type { OperationNeeds } from "./needs.ts";
import { arrivesUntil, openedEvent, openOperation, step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { jobOf, scheduleNext, stopCaring } from "./read-operation.ts";
import { isReconcilable, NO_READ } from "./reconcile.ts";

/**
 * Starts a job. Its record, with the local identifier and the token, is durable together with the first intent; whatever
 * the creation call then comes to, there is one operation for it and never a second.
 */
export async function createJob(core: OperationNeeds, sending: Sending): Promise<CallResult> {
  const { outbound, request } = sending;
  const token = tokenOf(request, outbound.definition.pack) ?? makeToken(core, outbound.definition.pack);
  const operation = openOperation(core, "job", { ...sending, token, input: outbound.input, party: partyFor(sending) });
  // Nobody else asks about it while its creation is on its way.
  learn(operation, { kind: "leased", lease: nextLease(core, null) });
  core.operations.put(operation);
  let intended = false;
  let sent = false;
  const beside = (_attemptId: string, { maximumCents, day }: Reservation): Beside => {
    // Until its answer is in, what it may cost is reserved for an outcome that nobody knows.
    learn(operation, { kind: "reserve", cents: maximumCents, day });
    learn(operation, { kind: "on_its_way", until: arrivesUntil(core, outbound.definition.action.job) });
    const events = intended ? [] : [openedEvent(core, operation)];
    intended = true;
    return { events, rows: [operationRow(core, operation)] };
  };
  const after = ({ held, reservation }: Attempted): Beside => {
    sent = true;
    learn(operation, { kind: "reserve", cents: held, day: reservation.day });
    return { events: [], rows: core.operations.holds(operation) ? [operationRow(core, operation)] : [] };
  };
  try {
    const followed = await follow(core, { ...sending, errand: "create_job", operationId: operation.id, beside, after });
    return await settleCreation(core, sending, operation, followed);
  } catch (error) {
    // Refused before anything left: there is no operation. Refused between two tries: the first may have gone through.
    if (!sent) {
      core.operations.drop(operation);
      // The store may have taken what the log had no room for.
      const rows = [{ ...operationRow(core, operation), over: true as const }];
      if (intended) await core.ledger.record("job.unclear", [], rows).catch(() => undefined);
    } else if (operation.state === "create_pending") {
      const observation = error instanceof Denied ? error.code : "fault";
      const events = step(core, operation, { kind: "no_clear_answer", observation }, operation.callerKey);
      await core.ledger.record("job.unclear", events, [operationRow(core, operation)]).catch(() => undefined);
    }
    throw error;
  }
}

async function settleCreation(
  core: OperationNeeds,
  sending: Sending,
  operation: Operation,
  followed: Followed,
): Promise<CallResult> {
  const job = jobOf(sending.outbound.definition);
  // Somebody unlocked meanwhile: it was read anew from its row, and what became of it is found out for that one.
  if (!core.operations.holds(operation)) {
    const open = { operation_id: operation.id, ...adviseAfter("unknown"), reconcile: reconcilePath(operation) };
    return { ...followed.result, outcome: "unknown", ...open };
  }
  learn(operation, { kind: "left_unanswered", attemptId: followed.attemptId });
  const events = step(core, operation, creationTrigger(sending, followed), operation.callerKey);
  scheduleNext(core, operation, job, followed.observation);
  const rows = [operationRow(core, operation)];
  if (followed.verdict.kind === "unknown") rows.push(trackedRow(sending, followed));
  if (typeof sending.claim === "object") rows.push(...closeUnseen(sending.claim, sending.run.id));
  await core.ledger.record("job.created", events, rows);
  core.schedule(operation);
  const { result } = followed;
  if (operation.state === "failed") return { ...result, operation_id: operation.id };
  const accepted = operation.state === "accepted";
  return {
    ...result,
    outcome: "unknown",
    operation_id: operation.id,
    ...adviseAfter(accepted ? "accepted" : "unknown"),
    reconcile: accepted ? { method: "GET", path: `/v1/operations/${operation.id}` } : reconcilePath(operation),
  };
}

/** A job id is the only proof of acceptance, a refusal the only proof of none; everything else is not clear. */
function creationTrigger({ outbound, claim }: Sending, { verdict, observation }: Followed): OperationTrigger {
  switch (verdict.kind) {
    case "success":
    case "accepted": {
      const body = readJson(verdict.observation);
      const jobId = body === null ? null : readJobReport(jobOf(outbound.definition), body).jobId;
      if (jobId !== null) return { kind: "job_named", remoteJobId: jobId };
      return { kind: "no_clear_answer", observation: `status_${verdict.observation.status}_without_job` };
    }
    case "error":
      // Refused after a try that nobody saw the end of: that one may have gone through.
      if (typeof claim === "object" && claim.doubt) return { kind: "no_clear_answer", observation: verdict.reason };
      return { kind: "creation_rejected", proof: verdict.reason };
    case "unknown":
      return { kind: "no_clear_answer", observation: verdict.reason };
    case "redirect":
      return { kind: "no_clear_answer", observation: `redirect_${observation.kind}` };
  }
}

/** A write that nobody saw the end of becomes an operation, so that somebody can find out. */
export async function trackUnknown(
  core: OperationNeeds,
  sending: Sending,
  followed: Followed,
  intent: JsonObject,
): Promise<CallResult> {
  const { outbound, request } = sending;
  const token = tokenOf(request, outbound.definition.pack);
  const { held, reservation } = followed;
  const opened = { ...sending, token, input: intent, party: partyFor(sending), held, heldOn: reservation.day };
  const operation = openOperation(core, "write", { ...opened, firstSentMs: followed.firstSentMs });
  const said = followed.observation.kind === "silent" ? followed.observation.said : undefined;
  learn(operation, { kind: "left_unanswered", attemptId: followed.attemptId, ...(said === undefined ? {} : { said }) });
  const events: NewEvent[] = [openedEvent(core, operation)];
  const observation = "reason" in followed.verdict ? followed.verdict.reason : followed.verdict.kind;
  events.push(...step(core, operation, { kind: "no_clear_answer", observation }, operation.callerKey));
  if (isReconcilable(core, outbound.definition)) scheduleNext(core, operation, null, followed.observation);
  else stopCaring(operation, "operation_not_reconcilable", NO_READ);
  core.operations.put(operation);
  const { claim } = sending;
  const claimed =
    typeof claim === "object" ? [...linkClaim(core, claim, operation.id), ...closeUnseen(claim, sending.run.id)] : [];
  const rows = [operationRow(core, operation), trackedRow(sending, followed), ...claimed];
  await core.ledger.record("write.untracked", events, rows);
  core.schedule(operation);
  return { ...followed.result, operation_id: operation.id, reconcile: reconcilePath(operation) };
}

/**
 * Something of it left, and then we failed at our own work: whatever the fault was, it says nothing about the other side.
 * Where not even that can be written, the claim in the store keeps the same call from being sent until a start finds out.
 */
export async function endUnseen(
  core: OperationNeeds,
  sending: Sending,
  claim: Claim,
  error: unknown,
): Promise<CallResult> {
  const reason = error instanceof Denied ? error.code : "internal_fault";
  const detail = error instanceof Denied ? error.message : "the gateway failed while it dealt with the answer";
  const observation = { kind: "silent", reason: "internal_fault", detail, elapsedMs: 0 } as const;
  const verdict = { kind: "unknown", reason, observation } as const;
  const held = askOf(sending.outbound).maximumCents;
  const day = String(claim.holder?.evidence["reserved_on"] ?? "");
  const reservation = { maximumCents: held, sideEffect: true, attempt: 0, day };
  const cost = costRecord(reservation, null);
  const result = resultOf(sending, { observation, verdict, cost }, null);
  const { holder } = claim;
  if (holder === null) return result;
  const { operation_id: operationId, attempt_id: attemptId } = holder;
  if (operationId !== null) {
    const path = `/v1/operations/${operationId}/reconcile`;
    return { ...result, operation_id: operationId, reconcile: { method: "POST", path } };
  }
  const firstSentMs = core.ports.clock.bootMs();
  const followed = { attemptId, reservation, held, observation, verdict, cost, result, firstSentMs };
  return trackUnknown(core, sending, followed, sending.outbound.input).catch(() => result);
}

function partyFor({ run, session }: Sending): string {
  return partyOf(run, session.caller.key);
}

function reconcilePath({ id }: Operation): { readonly method: string; readonly path: string } {
  return { method: "POST", path: `/v1/operations/${id}/reconcile` };
}

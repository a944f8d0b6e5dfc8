import type { NewEvent } from "../../audit/event.ts";
import { readJobReport } from "../../conventions/operation/read-status.ts";
import { decideReconciliation } from "../../conventions/operation/reconcile.ts";
import { decideRepeat, type RepeatDecision } from "../../conventions/operation/repeat.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { attempt } from "../attempt/attempt.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Attempted, Beside } from "../attempt/sending.ts";
import { askOf, bindDefinition } from "../outbound/admit.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import { sendOf } from "../outbound/request.ts";
import { executionInput } from "../plan/execute.ts";
import type { StateRow } from "../ports.ts";
import type { OperationNeeds } from "./needs.ts";
import { arrivesUntil, linksOf, step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { scheduleNext, standingOf, stopCaring } from "./read-operation.ts";

/** Whether the stored request may go out once more under its token, and the request itself as it was built again. */
export function prepareRepeat(
  core: Pick<OperationNeeds, "book" | "ports">,
  operation: Operation,
  definition: Definition,
): { readonly decision: RepeatDecision; readonly outbound: Outbound } {
  const outbound = bindAgain(operation, definition);
  const decision = decideRepeat({
    token: operation.token,
    windowMs: definition.pack.provider?.idempotency?.windowMs ?? null,
    sinceFirstMs: core.ports.clock.bootMs() - operation.firstSent.bootMs,
    sendMs: askOf(outbound).capMs,
    standing: standingOf(core, operation) !== null,
    repeats: operation.repeats,
    maxRepeats: defaults.tokenRepeats,
    sent: operation.fingerprint,
    rebuilt: outbound.requestDigest,
  });
  return { decision, outbound };
}

/** A plan is carried out by its name alone; what it was made from stays with the operation, for whoever reads it back. */
function bindAgain({ input, plan }: Operation, definition: Definition): Outbound {
  if (plan === null) return bindDefinition(definition, input);
  return { ...bindDefinition(definition, executionInput(input, definition), plan), input, plan };
}

/**
 * Sends exactly the stored request once more, under its own token, so that the provider tells its original result. It is
 * a side-effect attempt of the run like the first one, under the approval that the first one had; it takes over the
 * first one's reserve, since under one token there is at most one charge.
 */
export async function repeatUnderToken(
  core: OperationNeeds,
  operation: Operation,
  outbound: Outbound,
  provenRows: (attempted: Attempted) => readonly StateRow[],
): Promise<void> {
  const standing = standingOf(core, operation);
  if (standing === null) throw new Denied("operation_needs_person", "its session ended before it could be sent again");
  const { run, session } = standing;
  const actor = operation.callerKey;
  let settled = false;
  learn(operation, { kind: "sent_again" });
  try {
    await attempt(core, {
      errand: "token_retry",
      run,
      session,
      callId: operation.callId,
      outbound,
      authorization: operation.authorization,
      request: sendOf(core, outbound, operation.callId, operation.token),
      credential: outbound.credential,
      operationId: operation.id,
      claim: "held_by_operation",
      carries: { maximumCents: operation.held, day: operation.heldOn },
      beside: (): Beside => {
        learn(operation, { kind: "on_its_way", until: arrivesUntil(core, outbound.definition.action.job) });
        const events = step(core, operation, { kind: "reconciliation_started", method: "token_retry" }, actor);
        return { events, rows: [operationRow(core, operation)] };
      },
      after: (attempted): Beside => {
        settled = true;
        // What the repeat proved nothing about is still unknown, and so is its charge: the reserve is held on.
        learn(operation, { kind: "reserve", cents: attempted.held, day: attempted.reservation.day });
        const events = settleRepeat(core, operation, outbound, attempted, actor);
        const proven = provenRows(attempted);
        return { events, rows: [operationRow(core, operation), ...proven] };
      },
    });
  } catch (error) {
    if (!(error instanceof Denied) || settled) throw error;
    stopCaring(operation, error.code, error.message);
  } finally {
    if (!settled) step(core, operation, { kind: "reconciliation_inconclusive", observation: "not_sent" }, actor);
  }
}

function settleRepeat(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  { definition }: Outbound,
  { verdict, observation }: Attempted,
  actor: string,
): readonly NewEvent[] {
  const { job } = definition.action;
  const answer = observation.kind === "answered" ? observation : null;
  const body = answer === null ? null : readJson(answer);
  const decision = decideReconciliation({
    method: "token_retry",
    status: answer?.status ?? null,
    jobId: job === null || body === null ? null : readJobReport(job, body).jobId,
    isJob: job !== null,
    showsExpected: false,
    deadlinePassed: false,
  });
  const source = definition.action.qualifiedName;
  const receipt = answer === null ? "" : digestBytes(answer.body);
  const events: NewEvent[] = [];
  const links = linksOf(operation);
  const proof = { receipt, source, evidence: "remote_receipt" } as const;
  switch (decision.kind) {
    case "job_named":
      events.push(...step(core, operation, { kind: "job_named", remoteJobId: decision.jobId }, actor));
      events.push({ ...core.envelope("reconciled_accepted"), ...links, remote_job_id: decision.jobId, ...proof });
      break;
    case "effect_shown":
      events.push(...step(core, operation, { kind: "effect_shown", receipt, source }, actor));
      events.push({ ...core.envelope("reconciled_success"), ...links, ...proof });
      break;
    case "proven_absent":
    case "inconclusive": {
      learn(operation, { kind: "nothing_learned" });
      const reason = decision.kind === "inconclusive" ? decision.why : decision.proof;
      events.push(...step(core, operation, { kind: "reconciliation_inconclusive", observation: reason }, actor));
      events.push({ ...core.envelope("reconciliation_inconclusive"), ...links, reason, source });
      // A refusal may be about the token itself, and another try would only be refused again.
      if (verdict.kind === "error" && answer !== null && answer.status !== 429 && answer.status !== 409) {
        stopCaring(operation, "operation_needs_person", `the provider refused the repeat under its token (${reason})`);
      }
    }
  }
  scheduleNext(core, operation, job, observation);
  return events;
}

import type { NewEvent } from "../../audit/event.ts";
import { readJobReport } from "../../conventions/operation/read-status.ts";
import { decideReconciliation, knownOf, methodOf } from "../../conventions/operation/reconcile.ts";
import { sayStop } from "../../conventions/operation/repeat.ts";
import { isSettled, operationStates, type ReconcileMethod } from "../../conventions/operation/state.ts";
import { showsExpected } from "../../conventions/outcome/confirm.ts";
import { type RequestStatus, readRequestStatus } from "../../conventions/ssh/request-status.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import { splitIntent } from "../attempt/confirm.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Attempted } from "../attempt/sending.ts";
import type { Definition } from "../outbound/outbound.ts";
import type { StateRow } from "../ports.ts";
import { settleHeld } from "./held-reserve.ts";
import type { OperationNeeds } from "./needs.ts";
import { linksOf, step } from "./operation.ts";
import { learn, type Operation } from "./operations.ts";
import { readerOf } from "./poll.ts";
import { CUSTODIAN, definitionOf, readFor, scheduleNext, stopCaring } from "./read-operation.ts";
import { isStatusReader, statusReaderOf } from "./ssh-status.ts";
import { prepareRepeat, repeatUnderToken } from "./token-retry.ts";

/**
 * The read that the definition names for finding out; the confirming read serves where it names none. A receiver keeps a
 * record of every request, which is better evidence than any state.
 */
export function reconcilerOf(core: Pick<OperationNeeds, "packs">, definition: Definition): Definition | null {
  const { action, pack } = definition;
  switch (action.kind) {
    case "http":
    case "url": {
      const name = action.unknown.reconcile ?? (action.job === null ? action.confirm : null);
      return name === null ? null : readerOf(core, definition, name);
    }
    case "ssh":
      return statusReaderOf(pack, action);
  }
}

export const NO_READ = "the definition names no read that could tell what happened";

/** Whether anything can be done to find out. */
export function isReconcilable(core: Pick<OperationNeeds, "packs">, definition: Definition): boolean {
  return definition.action.unknown.tokenRetry || reconcilerOf(core, definition) !== null;
}

/**
 * Asks the state-owning system what became of a request that nobody saw the answer of. What the answer proves is added to
 * the log, and where it proves nothing the outcome stays unknown. It reads; only where the provider documents that a
 * repeat under the same token returns the original result is the very request sent once more.
 */
export async function reconcile(
  core: OperationNeeds,
  operation: Operation,
  asked: Authorization | null,
): Promise<void> {
  const definition = definitionOf(core, operation);
  const reader = reconcilerOf(core, definition);
  if (definition.action.unknown.tokenRetry) {
    const { decision, outbound } = prepareRepeat(core, operation, definition);
    if (decision.kind === "repeat") {
      return repeatUnderToken(core, operation, outbound, (attempted) =>
        keepProven(core, operation, definition, attempted),
      );
    }
    // The read that confirms still can tell, and sends nothing again.
    if (reader === null) return stopCaring(operation, "operation_needs_person", sayStop(decision.why));
  }
  if (reader === null) {
    stopCaring(operation, "operation_not_reconcilable", NO_READ);
    return;
  }
  const actor = operation.custodian ? CUSTODIAN : operation.callerKey;
  const known = knownFor(operation, definition, reader);
  const method = isStatusReader(reader) ? "status_by_client_id" : methodOf(boundOf(reader, known));
  const begin = () => step(core, operation, { kind: "reconciliation_started", method }, actor);
  try {
    await readFor(core, operation, { errand: "reconcile", reader, known, asked, begin }, (attempted) => {
      const found = settleRead(core, operation, definition, reader, method, attempted, actor);
      const { events, rows } = settleHeld(core, operation);
      return { events: [...found, ...events], rows: [...rows, ...keepProven(core, operation, definition, attempted)] };
    });
  } finally {
    // Its intent could not be written, or another gateway went on: nothing was found out. After any answer this is no step.
    step(core, operation, { kind: "reconciliation_inconclusive", observation: "not_sent" }, actor);
  }
}

/** What proved a promotion may say which deployment it made: then it can be undone like one whose answer was seen. */
function keepProven(
  core: Pick<OperationNeeds, "keepPromotion">,
  operation: Operation,
  definition: Definition,
  { verdict }: Pick<Attempted, "verdict">,
): readonly StateRow[] {
  if (operation.state !== "succeeded" || verdict.kind !== "success") return [];
  const { party, purse, input: intent } = operation;
  return core.keepPromotion(definition, { runId: purse.id, party, intent }, readJson(verdict.observation));
}

/** The read that would find out, as it would be bound; null where the definition names none. */
export function reconcileReadOf(
  core: Pick<OperationNeeds, "packs">,
  operation: Operation,
  definition: Definition,
): { readonly reader: Definition; readonly known: JsonObject } | null {
  const reader = reconcilerOf(core, definition);
  return reader === null ? null : { reader, known: knownFor(operation, definition, reader) };
}

/** What the read is really asked by: a name that it could take, and that nobody knows, finds nothing and proves nothing. */
function boundOf({ action }: Definition, known: JsonObject): readonly string[] {
  return action.inputs.flatMap(({ name, constant }) =>
    constant === undefined && known[name] !== undefined ? [name] : [],
  );
}

function knownFor(operation: Operation, { pack }: Definition, reader: Definition): JsonObject {
  const named = isStatusReader(reader) && operation.attemptId !== null ? { of: operation.attemptId } : {};
  return knownOf({
    token: operation.token,
    correlationId: operation.callId,
    correlated: pack.provider?.correlationHeader != null,
    input: { ...operation.input, ...named },
  });
}

function settleRead(
  core: Pick<OperationNeeds, "envelope" | "ledger" | "operations" | "ports">,
  operation: Operation,
  definition: Definition,
  reader: Definition,
  method: ReconcileMethod,
  { verdict, observation }: Attempted,
  actor: string,
): readonly NewEvent[] {
  const { job } = definition.action;
  const answer = observation.kind === "answered" ? observation : null;
  const body = answer === null ? null : readJson(answer);
  if (isStatusReader(reader)) return settleStatus(core, operation, reader, { verdict, observation }, actor);
  const { set, keys } = splitIntent(reader, operation.input);
  const named = job === null ? null : readJobReport(job, body).jobId;
  const decision = decideReconciliation({
    method,
    status: answer?.status ?? null,
    // By what it was about, or by a name that its caller chose, the job of an earlier call may be found.
    jobId: named !== null && isAnothers(core, operation, named) ? null : named,
    isJob: job !== null,
    showsExpected: verdict.kind === "success" && showsExpected(set, keys, body),
    deadlinePassed: operation.createDeadline.bootMs <= core.ports.clock.bootMs(),
  });
  const source = reader.action.qualifiedName;
  const receipt = answer === null ? "" : digestBytes(answer.body);
  const events: NewEvent[] = [];
  switch (decision.kind) {
    case "job_named":
      learn(operation, { kind: "job_found" });
      events.push(...step(core, operation, { kind: "job_named", remoteJobId: decision.jobId }, actor));
      // Found and accepted: whether it succeeds is what its state says later.
      events.push({
        ...core.envelope("reconciled_accepted"),
        ...linksOf(operation),
        remote_job_id: decision.jobId,
        receipt,
        source,
        ...EVIDENCE,
      });
      break;
    case "effect_shown":
      events.push(...step(core, operation, { kind: "effect_shown", receipt, source }, actor));
      events.push({ ...core.envelope("reconciled_success"), ...linksOf(operation), receipt, source, ...EVIDENCE });
      break;
    case "proven_absent": {
      const { proof } = decision;
      events.push(...step(core, operation, { kind: "creation_rejected", proof }, actor));
      events.push({ ...core.envelope("reconciled_failure"), ...linksOf(operation), proof, source, ...EVIDENCE });
      break;
    }
    case "inconclusive": {
      learn(operation, { kind: "nothing_learned" });
      const observed = { kind: "reconciliation_inconclusive", observation: decision.why } as const;
      events.push(...step(core, operation, observed, actor));
      const reason = decision.why;
      events.push({ ...core.envelope("reconciliation_inconclusive"), ...linksOf(operation), reason, source });
    }
  }
  scheduleNext(core, operation, job, observation);
  return events;
}

/** Whether the job is on record as that of another operation, open or ended, with the same account at the same provider. */
function isAnothers(
  { operations, ledger }: Pick<OperationNeeds, "ledger" | "operations">,
  { id, action, credential }: Operation,
  jobId: string,
): boolean {
  const pack = action.slice(0, action.indexOf(".") + 1);
  const ended = operationStates.filter(isSettled).flatMap((state) => ledger.load("operations", state));
  const rows = ended.flatMap((row) =>
    "tampered" in row ? [] : [{ ...(row.body as unknown as Operation), id: row.id }],
  );
  return [...operations.all(), ...rows].some(
    (one) => one.id !== id && one.remoteJobId === jobId && one.credential === credential && one.action.startsWith(pack),
  );
}

/** What no later question will know more of. */
const NO_END: Readonly<Partial<Record<RequestStatus["kind"], string>>> = {
  interrupted: "the host started it, and it came to no end of its own",
  record_gone: "the host said that it started it, and has no record of it any more",
};

/** What the host's own record says. While the operation runs there is nothing to add; the next question may know. */
function settleStatus(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  reader: Definition,
  { verdict, observation }: Pick<Attempted, "verdict" | "observation">,
  actor: string,
): readonly NewEvent[] {
  const answer = verdict.kind === "success" ? verdict.observation : null;
  const receipt = answer === null ? "" : digestBytes(answer.body);
  const status: RequestStatus =
    answer === null
      ? { kind: "unclear", why: "reason" in verdict ? verdict.reason : "no_answer" }
      : readRequestStatus(operation.attemptId ?? "", readJson(answer), operation.remoteState);
  const links = { ...linksOf(operation), source: reader.action.qualifiedName };
  const events: NewEvent[] = [];
  switch (status.kind) {
    case "succeeded":
      events.push(...step(core, operation, { kind: "effect_shown", receipt, source: links.source }, actor));
      events.push({ ...core.envelope("reconciled_success"), ...links, receipt, ...EVIDENCE });
      break;
    case "failed":
      events.push(...step(core, operation, { kind: "creation_rejected", proof: status.proof }, actor));
      events.push({ ...core.envelope("reconciled_failure"), ...links, proof: status.proof, ...EVIDENCE });
      break;
    case "running":
    case "interrupted":
    case "record_gone":
    case "unclear": {
      const reason = status.kind === "unclear" ? status.why : status.kind;
      learn(operation, { kind: status.kind === "running" ? "still_running" : "nothing_learned" });
      events.push(...step(core, operation, { kind: "reconciliation_inconclusive", observation: reason }, actor));
      events.push({ ...core.envelope("reconciliation_inconclusive"), ...links, reason });
      const detail = NO_END[status.kind];
      if (detail !== undefined) stopCaring(operation, "operation_needs_person", detail);
    }
  }
  scheduleNext(core, operation, null, observation);
  return events;
}

const EVIDENCE = { evidence: "reconciliation_read" } as const;

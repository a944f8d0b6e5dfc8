import type { NewEvent } from "../../audit/event.ts";
import type { Job } from "../../conventions/action/pack.ts";
import { type JobReport, readJobReport } from "../../conventions/operation/read-status.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Attempted } from "../attempt/sending.ts";
import type { Definition } from "../outbound/outbound.ts";
import type { OperationNeeds } from "./needs.ts";
import { step } from "./operation.ts";
import { learn, type Operation } from "./operations.ts";
import { CUSTODIAN, definitionOf, jobOf, keepSchedule, readFor, scheduleNext, stopCaring } from "./read-operation.ts";

/** The next read about a job: of its state, or of its result once it is done. */
export function jobReadOf(
  core: Pick<OperationNeeds, "packs">,
  { state, input, remoteJobId }: Operation,
  definition: Definition,
): JobRead {
  const { status, result } = jobOf(definition);
  const done = state === "result_collecting" && result !== null;
  const { action, idInput } = done ? result : status;
  const known = { ...input, [idInput]: remoteJobId ?? "" };
  return { errand: done ? "collect_result" : "poll", reader: readerOf(core, definition, action), known };
}

interface JobRead {
  readonly errand: "poll" | "collect_result";
  readonly reader: Definition;
  readonly known: JsonObject;
}

/** Reads the state of a job once, and takes whatever step the answer is evidence for. */
export async function pollJob(core: OperationNeeds, operation: Operation, asked: Authorization | null): Promise<void> {
  const definition = definitionOf(core, operation);
  const job = jobOf(definition);
  const read = jobReadOf(core, operation, definition);
  await readFor(core, operation, { ...read, asked }, (attempted) => ({
    events:
      read.errand === "poll"
        ? settlePoll(core, operation, job, attempted)
        : settleResult(core, operation, job, attempted),
    rows: [],
  }));
  // A card is for the one read that it shows; the result is then another question.
  const one = read.errand === "collect_result" || asked?.kind === "each_use";
  if (!one && operation.state === "result_collecting" && job.result !== null) return pollJob(core, operation, asked);
}

export function readerOf(core: Pick<OperationNeeds, "packs">, { pack }: Definition, name: string): Definition {
  const found = core.packs().find(`${pack.name}.${name}`);
  if (found === null) throw new TypeError(`${pack.name} has lost its action ${name}`);
  return found;
}

function settlePoll(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  job: Job,
  attempted: Attempted,
): readonly NewEvent[] {
  const events: NewEvent[] = [];
  const { verdict, observation } = attempted;
  const body = verdict.kind === "success" ? readJson(verdict.observation) : null;
  const report = body === null ? null : readJobReport(job, body);
  // A read that a callback asked for uses up none of the schedule's allowances and leaves the schedule as it is.
  const beside = operation.hinted.underWay;
  if (report === null || report.remoteState === null) {
    if (!beside) learn(operation, { kind: "nothing_learned" });
  } else {
    const { remoteState, progress } = report;
    learn(operation, { kind: "report_read", remoteState, progress, beside });
    events.push(...takeReport(core, operation, report));
    if (operation.state === "result_collecting" && report.end === "succeeded" && job.result === null) {
      events.push(...keepResult(core, operation, attempted, body));
    }
  }
  if (operation.state === "observing" && operation.resultDeadline.bootMs <= core.ports.clock.bootMs()) {
    const { bootMs } = operation.resultDeadline;
    const passed = { kind: "result_deadline_passed", deadlineMs: bootMs, nowMs: core.ports.clock.bootMs() } as const;
    events.push(...step(core, operation, passed, CUSTODIAN));
  }
  exhaust(operation, job);
  if (beside) keepSchedule(core, operation, job, observation);
  else scheduleNext(core, operation, job, observation);
  return events;
}

/** Only what the provider reports as final moves anything; its progress does not. */
function takeReport(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  report: JobReport,
): readonly NewEvent[] {
  // An answer to a question about one job that names another is no report about ours.
  const remoteJobId = report.jobId ?? operation.remoteJobId ?? "";
  const remoteState = report.remoteState ?? "";
  const actor = operation.custodian ? CUSTODIAN : operation.callerKey;
  if (report.jobId !== null && report.jobId !== operation.remoteJobId) {
    return step(core, operation, { kind: "job_named", remoteJobId }, actor);
  }
  switch (report.end) {
    case "succeeded":
      return step(core, operation, { kind: "remote_succeeded", remoteJobId, remoteState }, actor);
    case "failed":
      return step(core, operation, { kind: "remote_failed", remoteJobId, remoteState }, actor);
    case "cancelled":
      return step(core, operation, { kind: "remote_cancelled", remoteJobId, remoteState }, actor);
    case null:
      return [];
  }
}

function settleResult(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  job: Job,
  attempted: Attempted,
): readonly NewEvent[] {
  const { verdict, observation } = attempted;
  const events =
    verdict.kind === "success" ? keepResult(core, operation, attempted, readJson(verdict.observation)) : [];
  if (events.length === 0) learn(operation, { kind: "nothing_learned" });
  exhaust(operation, job);
  scheduleNext(core, operation, job, observation);
  return events;
}

function keepResult(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  { verdict }: Attempted,
  body: JsonValue,
): readonly NewEvent[] {
  if (verdict.kind !== "success") return [];
  const resultDigest = digestBytes(verdict.observation.body);
  const actor = operation.custodian ? CUSTODIAN : operation.callerKey;
  const remoteJobId = operation.remoteJobId ?? "";
  const events = step(core, operation, { kind: "result_fetched", remoteJobId, resultDigest }, actor);
  if (events.length > 0) {
    const result = verdict.observation.body.byteLength <= defaults.operationResultBytes ? body : null;
    learn(operation, { kind: "result_kept", digest: resultDigest, result });
  }
  return events;
}

/** Checks that said "still running" and reads that failed use up allowances of their own. */
function exhaust(operation: Operation, job: Job): void {
  if (operation.problem !== null) return;
  const known = `last known state ${operation.remoteState ?? "none"}, remote id ${operation.remoteJobId ?? "none"}`;
  if (operation.checks >= job.maxChecks) {
    stopCaring(operation, "poll_allowance_exhausted", `${operation.checks} checks made; ${known}`);
  } else if (operation.faults >= defaults.pollFaults) {
    stopCaring(operation, "poll_allowance_exhausted", `${operation.faults} reads without a usable answer; ${known}`);
  }
}

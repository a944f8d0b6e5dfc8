import type { Job } from "../../conventions/action/pack.ts";
import { openBudget } from "../../conventions/budget/budget.ts";
import { readJobReport } from "../../conventions/operation/read-status.ts";
import type { ResumeRecord } from "../../conventions/operation/summary.ts";
import { adviseAfter } from "../../conventions/outcome/advice.ts";
import type { Verdict } from "../../conventions/outcome/classify.ts";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { allowedBy } from "../approval/cards.ts";
import { needsPerson } from "../approval/demand.ts";
import { follow } from "../attempt/follow.ts";
import { readJson } from "../attempt/read-json.ts";
import type { Attempted, Beside, Sending } from "../attempt/sending.ts";
import { now } from "../core.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { requireLease } from "./lease.ts";
import type { OperationNeeds } from "./needs.ts";
import { momentIn, readsOf, step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { definitionOf, jobOf } from "./read-operation.ts";
import { bindOnJob, sendAsOperator } from "./send-as-operator.ts";

/** The request by which failed work goes on, or why there is none. */
export function bindResume(core: Pick<OperationNeeds, "packs">, operation: Operation): Outbound {
  const definition = definitionOf(core, operation);
  const resume = definition.action.job?.resume ?? null;
  if (resume === null) {
    throw new Denied("operation_not_resumable", "Its definition names no way to resume that the provider documents.");
  }
  const { state, remoteJobId } = operation;
  if (state !== "failed" || remoteJobId === null) {
    const why = state === "failed" ? "that never became a job" : `that is ${state}`;
    throw new Denied("operation_not_resumable", `An operation ${why} cannot be resumed.`);
  }
  if (operation.resuming) throw beingResumed();
  return bindOnJob(core, definition, resume, operation.input, remoteJobId);
}

/**
 * Asks the provider to go on with failed work. The request is an action of its own, with its own call, attempts and
 * token; the operation names it before it leaves, and is observed again unless the provider is proven to have refused.
 */
export async function resumeThrough(
  core: OperationNeeds,
  sending: Sending,
  operation: Operation,
  reason: string,
): Promise<CallResult> {
  const hooks = resumeHooks(core, operation, sending.callId, operation.callerKey, reason);
  const { result } = await claimed(core, operation, () =>
    follow(core, { ...sending, operationId: operation.id, ...hooks }),
  );
  return {
    ...result,
    operation_id: operation.id,
    reconcile: { method: "GET", path: `/v1/operations/${operation.id}` },
    ...(result.outcome === "error" ? {} : adviseAfter("resume_asked")),
  };
}

/** An operator resumes it, on their own authority. */
export async function resumeAsOperator(
  core: OperationNeeds,
  operation: Operation,
  operator: string,
  reason: string,
): Promise<void> {
  const outbound = bindResume(core, operation);
  requireOneIsEnough(core, outbound);
  const callId = core.ports.ids.next("call");
  const hooks = resumeHooks(core, operation, callId, operator, reason);
  await claimed(core, operation, () => sendAsOperator(core, operation, outbound, operator, callId, hooks));
}

/** What signed policy wants a passkey or two people for is not done on one operator's login: there is no card to give them. */
function requireOneIsEnough(core: Pick<OperationNeeds, "posture">, outbound: Outbound): void {
  if (!needsPerson(core, [allowedBy(outbound)])) return;
  throw new Denied(
    "operation_not_resumable",
    `Policy wants a passkey, or two people, for ${outbound.action}: the agent asks for it in its run, and you decide on its card. Nothing was sent.`,
  );
}

/** A resume that was on its way when we stopped may have gone through: the work is observed again. */
export function adoptResume(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  operation: Operation,
  attemptId: string,
  actor: string,
) {
  const record = operation.resumes.find(({ attempt_id, outcome }) => attempt_id === attemptId && outcome === "pending");
  if (record === undefined) return null;
  learn(operation, { kind: "resume_noted", record: { ...record, outcome: "unknown" } });
  return goOn(core, operation, attemptId, actor);
}

function beingResumed(): Denied {
  return new Denied("operation_not_resumable", "It is being resumed already.");
}

/** One resume at a time: the state is looked at again, since a person may have thought about it for minutes. */
async function claimed<Result>(
  core: OperationNeeds,
  operation: Operation,
  work: () => Promise<Result>,
): Promise<Result> {
  if (operation.resuming) throw beingResumed();
  learn(operation, { kind: "resume_began" });
  try {
    await requireLease(core, operation);
    if (operation.state !== "failed") throw beingResumed();
    return await work();
  } finally {
    learn(operation, { kind: "resume_over" });
    core.schedule(operation);
  }
}

function resumeHooks(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  operation: Operation,
  callId: string,
  actor: string,
  reason: string,
) {
  return {
    errand: "resume" as const,
    beside: (attemptId: string): Beside => {
      const at = isoTime(core.ports.clock.wallMs());
      const record = { call_id: callId, attempt_id: attemptId, actor, reason, at, outcome: "pending" } as const;
      learn(operation, { kind: "resume_noted", record });
      return { events: [], rows: [operationRow(core, operation)] };
    },
    after: ({ attemptId, verdict }: Attempted): Beside => {
      const outcome = outcomeOf(verdict);
      const record = operation.resumes.find(({ attempt_id }) => attempt_id === attemptId);
      if (record !== undefined) learn(operation, { kind: "resume_noted", record: { ...record, outcome } });
      const events = [...checkJob(core, operation, verdict, actor)];
      if (outcome !== "refused") events.push(...goOn(core, operation, attemptId, actor));
      return { events, rows: [operationRow(core, operation)] };
    },
  };
}

function outcomeOf(verdict: Verdict): ResumeRecord["outcome"] {
  switch (verdict.kind) {
    case "success":
    case "accepted":
      return "accepted";
    case "error":
      return "refused";
    case "unknown":
    case "redirect":
      return "unknown";
  }
}

/** Where the answer names another job than the one on record, both are kept and a person is needed. */
function checkJob(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  operation: Operation,
  verdict: Verdict,
  actor: string,
) {
  if (verdict.kind !== "success" && verdict.kind !== "accepted") return [];
  const { jobId: remoteJobId } = readJobReport(jobOf(definitionOf(core, operation)), readJson(verdict.observation));
  return remoteJobId === null ? [] : step(core, operation, { kind: "job_named", remoteJobId }, actor);
}

/** Back to observing, with deadlines, allowances and reads of its own. */
function goOn(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  operation: Operation,
  attemptId: string,
  actor: string,
) {
  const job = jobOf(definitionOf(core, operation));
  const trigger = { kind: "resume_sent", documented: job.resume !== null, attemptId } as const;
  const events = step(core, operation, trigger, actor);
  if (events.length === 0) return events;
  reopen(core, operation, job);
  return events;
}

function reopen(core: Pick<OperationNeeds, "ports">, operation: Operation, job: Job): void {
  const { purse, hinted } = operation;
  const { limits } = purse.budget;
  purse.budget = openBudget(
    purse.id,
    { ...limits, attempts: readsOf(job) + hinted.allowed, sideEffects: 0 },
    now(core),
  );
  const resultDeadline = momentIn(core, job.resultDeadlineMs);
  learn(operation, { kind: "reopened", resultDeadline, firstRead: momentIn(core, job.pollFirstMs) });
}

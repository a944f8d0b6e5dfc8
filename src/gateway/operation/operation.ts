import type { NewEvent } from "../../audit/event.ts";
import type { Job } from "../../conventions/action/pack.ts";
import { openBudget } from "../../conventions/budget/budget.ts";
import { budgetRecord } from "../../conventions/budget/record.ts";
import type { Moment } from "../../conventions/operation/evolve.ts";
import { isSettled, type OperationState, type OperationTrigger } from "../../conventions/operation/state.ts";
import type { OperationView } from "../../conventions/operation/summary.ts";
import type { TransitionRecord } from "../../conventions/operation/transition.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { CallId, RunId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import type { OperationNeeds } from "./needs.ts";
import { learn, type Operation } from "./operations.ts";

export function momentIn(core: Pick<OperationNeeds, "ports">, ms: number): Moment {
  const { clock } = core.ports;
  return { at: isoTime(clock.wallMs() + ms), bootMs: clock.bootMs() + ms };
}

/** How many reads one operation may use: those that say "still running", and those that say nothing. */
export function readsOf(job: Job | null): number {
  return (job?.maxChecks ?? defaults.custodianReads) + defaults.pollFaults;
}

/** Until when a request that leaves now may still arrive. */
export function arrivesUntil(core: Pick<OperationNeeds, "ports">, job: Job | null): Moment {
  return momentIn(core, job?.createDeadlineMs ?? defaults.jobCreateDeadlineMs);
}

/** What an operation takes from its definition; of one that is no longer trusted only its name is left. */
export interface Opened {
  readonly action: Pick<Definition["action"], "qualifiedName" | "job">;
  readonly pack: Pick<Definition["pack"], "digest" | "provider">;
}

export function openOperation(
  core: Pick<OperationNeeds, "ports">,
  kind: Operation["kind"],
  sent: {
    readonly run: { readonly id: RunId };
    readonly session: { readonly id: string; readonly caller: { readonly key: string } };
    readonly callId: CallId;
    readonly outbound: Pick<Outbound, "credential" | "requestDigest" | "plan"> & { readonly definition: Opened };
    readonly claim?: { readonly key: string } | string | undefined;
    readonly authorization: Authorization;
    readonly token: string | null;
    readonly input: JsonObject;
    readonly party: string;
    /** Boot time of the first send; now where it is still to come. */
    readonly firstSentMs?: number;
    readonly held?: number;
    readonly heldOn?: string;
    readonly id?: Operation["id"];
  },
): Operation {
  const { action, pack } = sent.outbound.definition;
  const { job } = action;
  const moment = {
    wallMs: core.ports.clock.wallMs(),
    bootMs: core.ports.clock.bootMs(),
    bootId: core.ports.clock.bootId(),
  };
  const hinted = job === null || (pack.provider?.callbacks ?? null) === null ? 0 : defaults.callbackReads;
  const limits = {
    attempts: readsOf(job) + hinted,
    sideEffects: 0,
    durationMs: defaults.operationCareMs,
    spendCents: 0,
  };
  return {
    id: sent.id ?? core.ports.ids.next("op"),
    kind,
    callId: sent.callId,
    sessionId: sent.session.id,
    callerKey: sent.session.caller.key,
    party: sent.party,
    action: action.qualifiedName,
    packDigest: pack.digest,
    credential: sent.outbound.credential,
    input: sent.input,
    fingerprint: sent.outbound.requestDigest,
    plan: sent.outbound.plan ?? null,
    claim: typeof sent.claim === "object" ? sent.claim.key : null,
    token: sent.token,
    firstSent: momentIn(core, (sent.firstSentMs ?? moment.bootMs) - moment.bootMs),
    repeats: 0,
    held: sent.held ?? 0,
    heldOn: sent.heldOn ?? "",
    attemptId: null,
    authorization: sent.authorization,
    createdAt: isoTime(moment.wallMs),
    createDeadline: arrivesUntil(core, job),
    resultDeadline: momentIn(core, job?.resultDeadlineMs ?? defaults.jobResultDeadlineMs),
    purse: { id: sent.run.id, budget: openBudget(sent.run.id, limits, moment) },
    state: "create_pending",
    remoteJobId: null,
    remoteState: null,
    progress: null,
    lease: null,
    nextPoll: null,
    checks: 0,
    faults: 0,
    hinted: { allowed: hinted, reads: 0, underWay: false },
    custodian: false,
    cancel: null,
    resumes: [],
    resuming: false,
    asking: null,
    problem: null,
    resultDigest: null,
    result: null,
    history: [],
  };
}

/** What ties an event to the operation and to the attempt that was left without an answer. */
export function linksOf(operation: Operation) {
  return {
    run_id: operation.purse.id,
    call_id: operation.callId,
    operation_id: operation.id,
    session_id: operation.sessionId,
    ...(operation.attemptId === null ? {} : { attempt_id: operation.attemptId, parent_event_id: operation.attemptId }),
  };
}

/** The event of the first entry in an operation's history: it exists. */
export function openedEvent(core: Pick<OperationNeeds, "envelope">, operation: Operation): NewEvent {
  return transitionEvent(core, operation, {
    at: operation.createdAt,
    actor: operation.callerKey,
    from: null,
    to: "create_pending",
    cause: "call_authorized",
    remote_job_id: null,
  });
}

/**
 * Takes one step of the table, or none. A step that the table or the evidence refuses changes nothing; a job id that
 * contradicts the one on record stops automation, with both kept.
 */
export function step(
  core: Pick<OperationNeeds, "envelope" | "ports">,
  operation: Operation,
  trigger: OperationTrigger,
  actor: string,
): readonly NewEvent[] {
  const at = isoTime(core.ports.clock.wallMs());
  return learn(operation, { kind: "trigger", trigger, at, actor }).map(({ entry }) =>
    transitionEvent(core, operation, entry),
  );
}

export function transitionEvent(
  core: Pick<OperationNeeds, "envelope">,
  operation: Operation,
  entry: Omit<TransitionRecord, "from" | "cause"> & { readonly from: OperationState | null; readonly cause: string },
): NewEvent {
  return {
    ...core.envelope("operation_transition"),
    run_id: operation.purse.id,
    call_id: operation.callId,
    operation_id: operation.id,
    session_id: operation.sessionId,
    ...entry,
  };
}

export function cancelRecord({ cancel }: Operation): OperationView["cancel"] {
  if (cancel === null) return null;
  const { actor, reason, expectedEffect, at } = cancel;
  return { actor, reason, expected_effect: expectedEffect, at };
}

export function operationRecord(operation: Operation): OperationView {
  const { lease, problem, token } = operation;
  return {
    operation_id: operation.id,
    request_fingerprint: operation.fingerprint,
    // Whoever holds the token could repeat the request: its digest is enough to recognise it by.
    idempotency_token: token === null ? "none" : digestText(token),
    remote_job_id: operation.remoteJobId,
    state: operation.state,
    created_at: operation.createdAt,
    create_deadline: operation.createDeadline.at,
    result_deadline: operation.resultDeadline.at,
    lease: lease === null ? null : { owner: lease.owner, expires_at: lease.expires_at },
    next_poll_at: operation.nextPoll?.at ?? null,
    kind: operation.kind,
    run_id: operation.purse.id,
    call_id: operation.callId,
    action: operation.action,
    settled: isSettled(operation.state),
    remote_state: operation.remoteState,
    progress: operation.progress,
    checks: operation.checks,
    budget: budgetRecord(operation.purse.budget),
    approval_id: operation.asking,
    observed_by: operation.custodian ? "gateway" : "session",
    cancel: cancelRecord(operation),
    resumes: operation.resumes,
    problem: problem === null ? null : { ...problem },
    result_digest: operation.resultDigest,
    result: operation.result,
    history: operation.history,
  };
}

import type { NewEvent } from "../../audit/event.ts";
import type { Job } from "../../conventions/action/pack.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import type { Moment } from "../../conventions/operation/evolve.ts";
import { pollDelayMs } from "../../conventions/operation/poll.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { retryAfterMs } from "../../conventions/outcome/retry.ts";
import type { Code } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import { attempt } from "../attempt/attempt.ts";
import { bindRead } from "../attempt/bind-read.ts";
import type { Attempted, Beside } from "../attempt/sending.ts";
import { draw } from "../core.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import { sendOf } from "../outbound/request.ts";
import type { Run, Session } from "../run/run.ts";
import type { OperationNeeds } from "./needs.ts";
import { momentIn } from "./operation.ts";
import { isOvertaken, operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";

/** As records name whoever looks after an operation whose session is over. */
export const CUSTODIAN = "gateway";

/** The definition that started it. Another pack under the same name is not trusted with it. */
export function definitionOf(core: Pick<OperationNeeds, "packs">, operation: Operation): Definition {
  const found = core.packs().find(operation.action);
  if (found === null || found.pack.digest !== operation.packDigest) {
    throw new Denied("definition_changed", `The pack that started ${operation.id} changed or is no longer trusted.`);
  }
  return found;
}

export function jobOf({ action }: Definition): Job {
  if (action.job === null) throw new Denied("operation_needs_person", "Its definition tracks no job.");
  return action.job;
}

/** The run and the session that started it, while both stand. */
export function standingOf(
  core: Pick<OperationNeeds, "book">,
  operation: Operation,
): { readonly run: Run; readonly session: Session } | null {
  const run = core.book.run(operation.purse.id);
  if (run === undefined || run.state === "ended") return null;
  const session = [...run.sessions.values()].find(({ id }) => id === operation.sessionId);
  return session === undefined || !mayContinue(session) ? null : { run, session };
}

/** From here on the gateway reads on its own account: ten reads, and nothing that has an effect. */
export function takeCustody(operation: Operation): void {
  if (operation.custodian) return;
  learn(operation, { kind: "session_over" });
  const { hinted } = operation;
  const { budget } = operation.purse;
  // A read for a callback that is just beginning is counted there already and not yet paid.
  const beside = Math.max(0, hinted.allowed - hinted.reads) + (hinted.underWay ? 1 : 0);
  const reads = defaults.custodianReads + beside;
  const attempts = Math.min(budget.limits.attempts, budget.attemptsUsed + reads);
  operation.purse.budget = { ...budget, limits: { ...budget.limits, attempts } };
}

/** Which read, what it is bound from, and the person who asked for it where one did. */
export interface ReadAsked {
  readonly errand: "poll" | "collect_result" | "reconcile";
  readonly reader: Definition;
  readonly known: JsonObject;
  readonly asked: Authorization | null;
  /** The step that begins with the read, written together with its intent: what is not sent did not begin. */
  readonly begin?: () => readonly NewEvent[];
}

/**
 * One read about an operation, through the same door as every attempt: reserved from the operation's own allowance,
 * logged before it is sent, and settled together with the step that its answer leads to. A person who asks for the read
 * stands behind it; otherwise it rests on what the operation was started with.
 */
export async function readFor(
  core: OperationNeeds,
  operation: Operation,
  { errand, reader, known, asked, begin }: ReadAsked,
  settle: (attempted: Attempted) => Beside,
): Promise<Attempted> {
  const outbound = bindFor(operation, reader, known);
  return attempt(core, {
    errand,
    run: operation.purse,
    session: { id: operation.sessionId, caller: { key: operation.custodian ? CUSTODIAN : operation.callerKey } },
    callId: operation.callId,
    outbound,
    authorization: asked ?? operation.authorization,
    request: sendOf(core, outbound, operation.callId),
    credential: outbound.credential,
    operationId: operation.id,
    custody: () => (isOvertaken(core, operation) ? null : operationRow(core, operation)),
    beside: () => ({ events: begin?.() ?? [], rows: [] }),
    after: (attempted) => {
      // Another process went on meanwhile: what this one saw late is in the log, and moves nothing.
      if (isOvertaken(core, operation)) return { events: [], rows: [] };
      const { events, rows } = settle(attempted);
      return { events, rows: [operationRow(core, operation), ...rows] };
    },
  });
}

/** The read as it would go out, or why it does not. */
export function bindFor(operation: Operation, reader: Definition, known: JsonObject): Outbound {
  const outbound = bindRead(reader, known);
  if (outbound === null) throw new Denied("operation_not_reconcilable", "An input of the read is not known.");
  if (outbound.credential !== operation.credential) {
    throw new Denied("definition_changed", "The read would use another credential than the operation did.");
  }
  return outbound;
}

/** When to look again: when the provider says, otherwise doubling with jitter. */
export function scheduleNext(
  core: Pick<OperationNeeds, "ports">,
  operation: Operation,
  job: Job | null,
  seen: TransportObservation | null,
): void {
  if (isSettled(operation.state) || operation.problem !== null) {
    learn(operation, { kind: "look_again", at: null });
    return;
  }
  const schedule = {
    firstMs: job?.pollFirstMs ?? defaults.pollFirstMs,
    capMs: job?.pollCapMs ?? defaults.pollCapMs,
    jitter: defaults.pollJitter,
  };
  const asked = seen === null ? null : askedToWait(core, operation, seen);
  const waitMs = pollDelayMs(schedule, operation.checks + operation.faults, asked, draw(core));
  learn(operation, { kind: "look_again", at: momentIn(core, waitMs) });
}

/** After a read beside the schedule: the schedule stands, unless the provider says when to come back. */
export function keepSchedule(
  core: Pick<OperationNeeds, "ports">,
  operation: Operation,
  job: Job,
  seen: TransportObservation,
): void {
  const { nextPoll } = operation;
  if (nextPoll === null || isSettled(operation.state) || operation.problem !== null) {
    scheduleNext(core, operation, job, seen);
    return;
  }
  const asked = askedToWait(core, operation, seen);
  if (asked !== null) learn(operation, { kind: "look_again", at: momentIn(core, asked) });
}

/** When its provider wants to be asked again, by its last answer or after an agent's own question: an agent that asks sooner waits too. */
const wanted = new WeakMap<Operation, Moment>();

function askedToWait(
  core: Pick<OperationNeeds, "ports">,
  operation: Operation,
  seen: TransportObservation,
): number | null {
  const waitMs = retryAfterMs(seen, core.ports.clock.wallMs());
  if (waitMs === null) wanted.delete(operation);
  else wanted.set(operation, momentIn(core, waitMs));
  return waitMs;
}

/** A person may ask all the same. */
export function requireWaited({ ports }: Pick<OperationNeeds, "ports">, operation: Operation): void {
  const next = wanted.get(operation);
  if (next === undefined || next.bootMs <= ports.clock.bootMs()) return;
  throw new Denied(
    "operation_evidence_pending",
    `The gateway asks its provider again at ${next.at} by itself, and not before. Nothing was read; read the operation then.`,
  );
}

/** An agent that asked beside the schedule waits for it: its reads count, and would use up what the job is looked after with. */
export function awaitSchedule(operation: Operation): void {
  if (operation.nextPoll !== null) wanted.set(operation, operation.nextPoll);
}

/** Automation ends here for this operation; its record says why, and what is known stays on it. */
export function stopCaring(operation: Operation, code: Code, detail: string): void {
  learn(operation, { kind: "automation_stopped", code, detail });
}

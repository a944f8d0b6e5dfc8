import { showBounded, showIdentifier, showText } from "../../kernel/display.ts";
import { entry, list, quote } from "../approval/render-line.ts";
import { TAKEN_AWAY } from "./record.ts";
import type { OperationDetail, OperationSummary, ResumeRecord } from "./summary.ts";
import type { TransitionRecord } from "./transition.ts";
import { adviseOn, nameShortly, sayActor, sayCause, sayLeft, sayProgress, sayState, sayTimes } from "./words.ts";

/**
 * One operation whole, as lines of a terminal: how it stands and what to do about it first, then who, then the evidence,
 * and last every step with its cause. What others wrote is escaped and stands behind a label of ours.
 */
export function renderOperation(operation: OperationDetail): readonly string[] {
  const advice = adviseOn(operation);
  const { settled, next_poll_in_ms, result_in_ms } = operation;
  const look =
    next_poll_in_ms === null
      ? "none is due"
      : next_poll_in_ms <= 0
        ? "now"
        : `in ${Math.ceil(next_poll_in_ms / 1000)} s`;
  const due = result_in_ms > 0 ? `in ${sayLeft(result_in_ms)}` : "OVERDUE";
  return [
    `${showIdentifier(operation.operation_id)}  ${showIdentifier(operation.action)}`,
    entry(advice === null ? "state" : "last known", `${sayState(operation)} (${operation.state})`),
    ...(advice === null
      ? []
      : [
          entry("NEEDS A PERSON", `${advice.why} (${showIdentifier(operation.problem?.code ?? operation.state)})`),
          entry("type", advice.command),
          entry("", advice.does),
        ]),
    ...maybe("taken over by", takerOf(operation)),
    ...maybe("progress", progressOf(operation)),
    ...maybe("provider says", operation.remote_state === null ? null : quote(operation.remote_state)),
    entry("remote id", operation.remote_job_id === null ? "none yet" : showIdentifier(operation.remote_job_id)),
    ...(settled
      ? []
      : [entry("next look", look), entry("result due", `${due}, at ${showText(operation.result_deadline)}`)]),
    entry("started by", `${showBounded(operation.started_by, MAX_NAME)}, at ${showText(operation.created_at)}`),
    entry("", `${showIdentifier(operation.run_id)}, ${showIdentifier(operation.call_id)}`),
    entry("allowed by", showIdentifier(operation.authorized_by)),
    entry("read by", operation.observed_by === "gateway" ? "the gateway itself: its session is over" : "its session"),
    entry("reads so far", `${operation.checks} said how it stands, ${operation.faults} said nothing usable`),
    ...cancelLines(operation),
    ...list("resume asked", operation.resumes.map(sayResume)),
    entry("request digest", showIdentifier(operation.request_fingerprint)),
    entry("token digest", showIdentifier(operation.idempotency_token)),
    ...maybe("result digest", operation.result_digest === null ? null : showIdentifier(operation.result_digest)),
    "History, oldest first",
    ...(operation.history.length === 0 ? ["  nothing yet: it is being sent"] : operation.history.map(historyLine)),
  ];
}

/** Two lines a row, always: nothing below moves because one begins to need a person. */
export function renderShortly(operation: OperationSummary): readonly [string, string] {
  const name = nameShortly(operation);
  const advice = adviseOn(operation);
  if (advice !== null)
    return [`! ${name}  NEEDS A PERSON: ${advice.why}`, `    type: ${advice.command}  (${advice.does})`];
  const progress = sayProgress(operation);
  const first = `  ${name}  ${sayState(operation)}${progress === null ? "" : `, ${progress}`}`;
  const by = `by ${showBounded(operation.started_by, MAX_NAME)}`;
  return [first, `    ${[...sayTimes(operation), by].join(", ")}`];
}

/** The gateway that has it now, and what it says became of it. */
function takerOf({ lease, settled, state, history }: OperationDetail): string | null {
  if (lease?.expires_at !== TAKEN_AWAY) return null;
  const name = showIdentifier(lease.owner.replace(/^gateway /, ""));
  if (!settled) return `${name}, which has not said yet how it ended: ask there`;
  return `${name}, where it ended ${state} at ${showText(history.at(-1)?.at ?? "")}`;
}

function progressOf({ progress, settled }: OperationDetail): string | null {
  if (progress === null) return null;
  const counted = `${progress.completed} of ${progress.total}, as the provider counts`;
  return settled ? `${counted} at the last read` : `${counted}; that is no result`;
}

function cancelLines({ cancel }: OperationDetail): readonly string[] {
  if (cancel === null) return [];
  return [entry("cancel asked", `by ${sayActor(cancel.actor)}: ${quote(cancel.reason)}`)];
}

function sayResume({ actor, reason, at, outcome }: ResumeRecord): string {
  const came = {
    pending: "no answer yet",
    accepted: "the provider took it up again",
    refused: "the provider refused",
    unknown: "NOT KNOWN whether it was taken up; it is looked at again",
  }[outcome];
  return `by ${sayActor(actor)} at ${showText(at)}: ${quote(reason)}; ${came}`;
}

function historyLine({ at, from, to, cause, actor, remote_job_id }: TransitionRecord): string {
  const job = remote_job_id === null ? "" : `, remote id ${showIdentifier(remote_job_id)}`;
  return `  ${showText(at)}  ${from} -> ${to}: ${sayCause(cause)}${job}, by ${sayActor(actor)}`;
}

function maybe(label: string, value: string | null): readonly string[] {
  return value === null ? [] : [entry(label, value)];
}

const MAX_NAME = 80;

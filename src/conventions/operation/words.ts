import { showBounded, showIdentifier } from "../../kernel/display.ts";
import type { OperationTrigger } from "./state.ts";
import { needsPerson, type OperationSummary } from "./summary.ts";

/**
 * How operations are told to a person. One place, so that the screen and the commands say the same: what is known, never
 * more; a number of the provider is progress, and only its own final word is an end.
 */
export function sayState({ state, kind }: Pick<OperationSummary, "state" | "kind">): string {
  switch (state) {
    case "create_pending":
      return "being sent";
    case "create_unknown":
      return kind === "job" ? "NOT KNOWN whether it was started" : "NOT KNOWN whether it happened";
    case "reconciliation":
      return "asking the provider what became of it";
    case "accepted":
      return "accepted by the provider, not looked at yet";
    case "observing":
      return "running at the provider";
    case "result_collecting":
      return "done, says the provider; its result is being fetched";
    case "cancel_requested":
      return "to be cancelled; the request has not left yet";
    case "cancelling":
      return "asked to stop; the provider decides how it ends";
    case "result_timed_out":
      return "NO RESULT by its deadline; it may still run";
    case "succeeded":
      return "succeeded";
    case "failed":
      return "failed";
    case "cancelled":
      return "cancelled, as the provider reports";
  }
}

/** The evidence behind a step of the history. */
export function sayCause(cause: OperationTrigger["kind"]): string {
  switch (cause) {
    case "job_named":
      return "the provider named the job";
    case "no_clear_answer":
      return "no clear answer came";
    case "creation_rejected":
      return "proof that it was not done";
    case "reconciliation_started":
      return "the provider was asked";
    case "reconciliation_inconclusive":
      return "its answer proved nothing";
    case "effect_shown":
      return "a later read shows the effect";
    case "observation_started":
      return "the gateway began to look";
    case "remote_succeeded":
      return "the provider reported success";
    case "remote_failed":
      return "the provider reported failure";
    case "remote_cancelled":
      return "the provider reported cancellation";
    case "result_fetched":
      return "the result was fetched";
    case "cancel_decided":
      return "somebody decided to cancel";
    case "cancel_sent":
      return "the cancel request left";
    case "result_deadline_passed":
      return "the result deadline passed";
    case "person_says_happened":
      return "a person signed that it happened";
    case "person_says_not":
      return "a person signed that it did not happen";
    case "resume_sent":
      return "it was resumed";
  }
}

/** Progress as the provider counts it; never a result. */
export function sayProgress({ progress }: Pick<OperationSummary, "progress">): string | null {
  return progress === null ? null : `progress ${progress.completed} of ${progress.total}`;
}

/** Minutes and seconds, hours where it takes them; never negative. */
export function sayLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (value: number): string => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** When it is looked at again, and by when its result is due. Empty once it has ended. */
export function sayTimes(operation: OperationSummary): readonly string[] {
  const { state, next_poll_in_ms, result_in_ms, problem } = operation;
  if (state === "succeeded" || state === "failed" || state === "cancelled") return [];
  const next =
    next_poll_in_ms === null
      ? problem === null && state === "create_pending"
        ? []
        : ["nobody looks again by itself"]
      : [next_poll_in_ms <= 0 ? "looking now" : `next look in ${Math.ceil(next_poll_in_ms / 1000)} s`];
  const waits = state !== "create_unknown" && state !== "reconciliation" && state !== "result_timed_out";
  const due = result_in_ms > 0 ? `result due in ${sayLeft(result_in_ms)}` : "result OVERDUE";
  return waits ? [...next, due] : next;
}

/** What a person can do about an operation that waits for one. */
export interface Advice {
  readonly why: string;
  /** The command to type. */
  readonly command: string;
  readonly does: string;
}

/** Null while the gateway goes on by itself. */
export function adviseOn(operation: OperationSummary): Advice | null {
  if (!needsPerson(operation)) return null;
  const { problem, unreadable, approval_id } = operation;
  const id = showIdentifier(operation.operation_id);
  const why = problem === null ? "nothing tells how it ended" : showBounded(problem.detail, MAX_DETAIL);
  const read = { why, command: `gw operation reconcile ${id}`, does: "to read it once more" };
  if (problem === null && approval_id !== null) {
    const command = `gw approve ${showIdentifier(approval_id)}`;
    return { why: "its next read waits for your answer to a card", command, does: "to allow that one read" };
  }
  // What a read would meet now goes first: nobody is told to read what would be refused.
  switch (unreadable?.code ?? problem?.code) {
    case undefined:
    case "operation_not_reconcilable":
      return {
        why,
        command: `gw operation settle ${id} --happened YES_OR_NO --reason TEXT`,
        does: "once you looked at the provider yourself; until then the same call is not sent again",
      };
    case "definition_changed":
      return {
        why,
        command: "gw pack list",
        does: `to see which pack is trusted; once it is the old one, reconcile, or say yourself what happened: gw operation settle ${id}`,
      };
    case "state_tampered":
      return { why, command: "gw audit verify", does: "to see whether the log holds; find out who changed the store" };
    case "operation_needs_person":
      return {
        ...read,
        does: `to read it once more; where that cannot tell, look at the provider and say so: gw operation settle ${id}`,
      };
    default:
      return read;
  }
}

/** Who took a step, as a person knows them. */
export function sayActor(actor: string): string {
  if (actor === "gateway" || actor.startsWith("log ") || actor.startsWith("worker ")) return "the gateway";
  const [pid] = /^[0-9]+(?=\.[0-9]+\.)/.exec(actor) ?? [];
  return pid === undefined ? showIdentifier(actor) : `the caller, pid ${pid}`;
}

/** Two operations of one action are told apart by what the provider calls them. */
export function nameShortly({ action, remote_job_id }: Pick<OperationSummary, "action" | "remote_job_id">): string {
  const job = remote_job_id === null ? "" : ` ${showBounded(remote_job_id, MAX_JOB)}`;
  return `${showIdentifier(action)}${job}`;
}

/** For one narrow row: numbers first, in places that stay; then what it is. */
export function sayInRow(operation: OperationSummary): string {
  const { progress, next_poll_in_ms, result_in_ms } = operation;
  const name = nameShortly(operation);
  const advice = adviseOn(operation);
  if (advice !== null) return `! ${advice.command}  ${name}: ${advice.why}`;
  const at = progress === null ? "" : `at ${progress.completed}/${progress.total}`;
  const look =
    next_poll_in_ms === null ? "" : next_poll_in_ms <= 0 ? "look now" : `look ${Math.ceil(next_poll_in_ms / 1000)} s`;
  const waits = sayTimes(operation).some((one) => one.startsWith("result"));
  const due = !waits ? "" : result_in_ms > 0 ? `due ${sayLeft(result_in_ms)}` : "OVERDUE";
  return `  ${at.padEnd(10)} ${look.padEnd(9)} ${due.padEnd(9)} ${sayState(operation)}: ${name}`;
}

const MAX_DETAIL = 200;
const MAX_JOB = 40;

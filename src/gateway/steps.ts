/**
 * Every place where the gateway makes something durable or lets something leave the process, by name. The ledger and the
 * one place that sends take a name from here, so that a new step does not compile without one; the crash tests kill a
 * gateway around each, and fail for a name that none of their scenes passes.
 */

/** What a send is for. Each has three steps: its intent on disk, the exchange, its completion on disk. */
export const errands = [
  "call",
  "page",
  "preview",
  "execute",
  "confirm",
  "create_job",
  "poll",
  "collect_result",
  "reconcile",
  "token_retry",
  "cancel",
  "resume",
  "promote",
  "rollback",
  "probe",
  "exchange",
] as const;

export type Errand = (typeof errands)[number];

/** Everything else that is written down. */
export const records = [
  "run.started",
  "run.ended",
  "session.started",
  "session.widened",
  "session.ended",
  "approval.requested",
  "approval.given",
  "approval.finished",
  "approval.refused",
  "ticket.attached",
  "ticket.refused",
  "call.denied",
  "day.counted",
  "denials.counted",
  "request.told",
  "requests.counted",
  "budget.denied",
  "write.confirmed",
  "write.untracked",
  "host.started",
  "plan.executed",
  "plan.rejected",
  "job.created",
  "job.unclear",
  "lease.taken",
  "observation.started",
  "operation.taken_over",
  "operation.stopped",
  "deadline.passed",
  "operation.settled",
  "errand.taken",
  "callback.taken",
  "probe.opened",
  "probe.closed",
  "token.kept",
  "source.read",
  "recovery.finished",
  "gateway.locked",
] as const;

export type RecordStep = (typeof records)[number] | `${Errand}.settled`;
export type IntentStep = `${Errand}.intent`;
export type SendStep = `${Errand}.sent`;
export type Step = RecordStep | IntentStep | SendStep;

/** @internal Every one: the crash tests end a gateway around each. */
export const steps: readonly Step[] = [
  ...errands.flatMap((errand) => [`${errand}.intent`, `${errand}.sent`, `${errand}.settled`] as const),
  ...records,
];

const opening: ReadonlySet<Step> = new Set<RecordStep>(["run.started", "session.started", "write.untracked"]);

/** Whether a record begins something that a later one ends; all others end or move what has begun. */
export function isOpening(step: RecordStep): boolean {
  return opening.has(step);
}

const happened: ReadonlySet<Step> = new Set<RecordStep>([
  // What came of something that was sent.
  ...(["write.confirmed", "write.untracked", "plan.executed", "plan.rejected", "probe.closed"] as const),
  ...(["job.created", "job.unclear", "token.kept"] as const),
  // A card that is shown, what a person said of it, and how it ended.
  ...(["approval.requested", "approval.given", "approval.finished"] as const),
  ...(["session.started", "session.widened", "session.ended", "run.ended", "gateway.locked"] as const),
  // An operation that has moved on already.
  ...(["operation.taken_over", "observation.started", "deadline.passed"] as const),
]);

/** Whether a record says what came of a send. */
export function isCompletion(step: RecordStep): boolean {
  return errands.some((errand) => step === `${errand}.settled`);
}

/** Whether a record says what has happened already, so that it cannot be refused: where the log is full it waits for room. */
export function hasHappened(step: RecordStep): boolean {
  return step.endsWith(".settled") || happened.has(step);
}

/** Told right before and right after each step. A crash test ends the process there; nothing else has a use for it. */
export interface StepPort {
  before(step: Step): void;
  after(step: Step): void;
}

export const unwatched: StepPort = { before: () => undefined, after: () => undefined };

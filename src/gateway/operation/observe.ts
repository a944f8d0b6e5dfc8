import type { Hint } from "../../conventions/callback/hint.ts";
import { isSettled } from "../../conventions/operation/state.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Authorization } from "../approval/authorize.ts";
import { createReadAsks, type ReadAsks } from "./ask-read.ts";
import { createHints } from "./callback-hints.ts";
import { createDueLoop } from "./due-loop.ts";
import { takeLease, yieldTo } from "./lease.ts";
import { requireAnswered } from "./may-read.ts";
import type { OperationNeeds } from "./needs.ts";
import { step } from "./operation.ts";
import { operationRow } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { pollJob } from "./poll.ts";
import { CUSTODIAN, scheduleNext, standingOf, stopCaring, takeCustody } from "./read-operation.ts";
import { reconcile } from "./reconcile.ts";

/**
 * The worker that finds out how operations end. Each waits for its stored time; a lease in the store makes sure that two
 * workers never read for one operation at once. It runs while there is something due, and stops when the vault is locked.
 */
export interface Observer {
  schedule(operation: Operation): void;
  /** A callback is about this operation: at most one read comes sooner. */
  hint(operation: Operation): Hint;
  /** Reads now, whatever the schedule says; resolves when the read is settled. */
  observeNow(operation: Operation, asked?: Authorization | null): Promise<void>;
  start(): void;
  /** No more reads are begun. What was sent is left to end by itself. */
  stop(): Promise<void>;
}

export function createObserver(core: OperationNeeds): Observer {
  const { clock } = core.ports;
  const passed = new WeakMap<Operation, number>();
  const hints = createHints(core);
  const asks = createReadAsks(core, observeNow);
  // A gateway-wide cap: whatever is due, no more than so many reads a minute.
  const loop = createDueLoop<Operation>(
    core.ports,
    { dueOf, begin: (operation) => void begin(operation, null), ended: schedule },
    { atOnce: defaults.operationPollsAtOnce, perMinute: defaults.operationPollsPerMinute },
  );

  const isBusy = (operation: Operation): boolean => loop.underWay(operation) !== undefined;

  function schedule(operation: Operation): void {
    // Its job may have been named just now, after a callback about it.
    if (core.cameEarly(operation)) hints.take(operation, isBusy(operation));
    loop.schedule(operation);
  }

  function dueOf(operation: Operation): number | null {
    // Where nothing is read any more, or a person decides whether, no callback counts.
    if (isSettled(operation.state) || operation.problem !== null) hints.forget(operation);
    if (isSettled(operation.state) || !core.operations.holds(operation)) return null;
    const due = [operation.nextPoll?.bootMs, hints.dueMs(operation), deadlineOf(operation)].filter(
      (one): one is number => typeof one === "number",
    );
    return due.length === 0 ? null : Math.min(...due);
  }

  /** A deadline passes by itself, also where nothing is read any more; it is looked at once. */
  function deadlineOf(operation: Operation): number | null {
    const { state, resultDeadline } = operation;
    if ((state !== "observing" && state !== "accepted") || passed.get(operation) === resultDeadline.bootMs) return null;
    return resultDeadline.bootMs;
  }

  /** `now` whatever the schedule says. */
  function begin(operation: Operation, asked: Authorization | null, now = false): Promise<void> {
    const { resultDeadline } = operation;
    if (resultDeadline.bootMs <= clock.bootMs()) passed.set(operation, resultDeadline.bootMs);
    hints.begin(operation, asked !== null);
    const work = observeOnce(core, operation, asked, asks, now)
      // A disk that fails has stopped the gateway already; anything else must not end the loop for the others.
      .catch((error: unknown) => {
        if (error instanceof Denied) return;
        stopCaring(operation, "internal_fault", error instanceof Error ? error.message : "unforeseen");
        return core.ledger.record("operation.stopped", [], [operationRow(core, operation)]).catch(() => undefined);
      })
      .finally(() => hints.end(operation));
    return loop.hold(operation, work);
  }

  /** A read that is under way is not the one that a person asked for: theirs is made after it, unless that was the end. */
  async function observeNow(operation: Operation, asked: Authorization | null = null): Promise<void> {
    const underWay = loop.underWay(operation);
    if (underWay === undefined) return begin(operation, asked, true);
    await underWay;
    if (asked !== null) await observeNow(operation, asked);
  }

  return {
    schedule,
    hint(operation) {
      const hint = hints.take(operation, isBusy(operation));
      if (hint.kind === "read_scheduled") schedule(operation);
      return hint;
    },
    observeNow,
    start: loop.start,
    async stop() {
      await loop.stop();
      hints.clear();
    },
  };
}

/** One look at one operation, under its lease. What refuses it is on its record. */
async function observeOnce(
  core: OperationNeeds,
  operation: Operation,
  asked: Authorization | null,
  asks: ReadAsks,
  now: boolean,
): Promise<void> {
  if (isSettled(operation.state) || core.credentials() === null) return;
  requireAnswered(core, operation);
  // As it stood before the lease: whoever had it may have kept another schedule, or none.
  const due = operation.nextPoll !== null && operation.nextPoll.bootMs <= core.ports.clock.bootMs();
  try {
    if (!(await takeLease(core, operation)) || isSettled(operation.state)) return;
    await passDeadline(core, operation);
    await takeUpUnseen(core, operation);
    if (asked === null && !due && !operation.hinted.underWay && !now) return;
    const standing = standingOf(core, operation) !== null;
    if (!standing) takeCustody(operation);
    // A person is asked on the schedule's account, never because somebody outside said so.
    const holdsBack = (): boolean => operation.hinted.underWay || asks.holdBack(operation);
    if (!standing && asked === null && asksEachUse(core, operation) && holdsBack()) return;
    await asks.takeBack(operation);
    await look(core, operation, asked);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    await refuse(core, operation, error);
  }
}

/** The work is not taken for stopped; only that its result is late is known, whoever looks at it or does not. */
async function passDeadline(
  core: Pick<OperationNeeds, "envelope" | "ledger" | "ports">,
  operation: Operation,
): Promise<void> {
  const [deadlineMs, nowMs] = [operation.resultDeadline.bootMs, core.ports.clock.bootMs()];
  if (deadlineMs > nowMs) return;
  const events = step(core, operation, { kind: "result_deadline_passed", deadlineMs, nowMs }, CUSTODIAN);
  if (events.length > 0) await core.ledger.record("deadline.passed", events, [operationRow(core, operation)]);
}

/** Whoever sent it stopped or sleeps: its lease has run out, and nobody saw the answer. */
async function takeUpUnseen(
  core: Pick<OperationNeeds, "envelope" | "ledger" | "ports" | "worker">,
  operation: Operation,
): Promise<void> {
  const lost = { observation: "worker_stopped_before_the_result" } as const;
  const unclear = [
    ...step(core, operation, { kind: "no_clear_answer", ...lost }, core.worker),
    ...step(core, operation, { kind: "reconciliation_inconclusive", ...lost }, core.worker),
  ];
  if (unclear.length > 0) await core.ledger.record("operation.taken_over", unclear, [operationRow(core, operation)]);
}

async function look(core: OperationNeeds, operation: Operation, asked: Authorization | null): Promise<void> {
  switch (operation.state) {
    case "create_unknown":
      await reconcile(core, operation, asked);
      // Nothing may have been sent, and then nothing has been written.
      if (operation.problem !== null)
        await core.ledger.record("operation.stopped", [], [operationRow(core, operation)]);
      return;
    case "accepted": {
      const begun = {
        kind: "observation_started",
        leaseOwner: core.worker,
        leaseExpiresAtMs: operation.lease?.expires_boot_ms ?? 0,
        nowMs: core.ports.clock.bootMs(),
      } as const;
      const events = step(core, operation, begun, core.worker);
      await core.ledger.record("observation.started", events, [operationRow(core, operation)]);
      return pollJob(core, operation, asked);
    }
    case "observing":
    case "cancel_requested":
    case "cancelling":
    case "result_timed_out":
    case "result_collecting":
      return pollJob(core, operation, asked);
    // Taken up before, or over.
    case "create_pending":
    case "reconciliation":
    case "succeeded":
    case "failed":
    case "cancelled":
      return;
  }
}

function asksEachUse(core: Pick<OperationNeeds, "credentials">, { credential }: Operation): boolean {
  return credential !== null && core.credentials()?.find(credential)?.eachUse !== false;
}

/** What cannot be read is not read again and again: its allowance is over, or a person is needed. */
async function refuse(
  core: Pick<OperationNeeds, "ledger" | "packs" | "ports">,
  operation: Operation,
  denied: Denied,
): Promise<void> {
  // A callback cannot bring the end of automation forward: the schedule finds out in its own time.
  if (operation.hinted.underWay && denied.code !== "operation_taken_over") return;
  switch (denied.code) {
    case "gateway_locked":
    case "gateway_stopped":
      // Its row keeps the schedule for whoever unlocks or starts next.
      learn(operation, { kind: "look_again", at: null });
      return;
    case "operation_taken_over":
      yieldTo(core, operation);
      return;
    case "log_backlogged":
    case "hub_unreachable":
    case "hub_rolled_back":
    case "hub_forked":
      scheduleNext(core, operation, null, null);
      return;
    case "attempts_exhausted":
    case "run_deadline_exhausted": {
      const { remoteState, remoteJobId } = operation;
      const known = `last known state ${remoteState ?? "none"}, remote id ${remoteJobId ?? "none"}`;
      stopCaring(operation, "poll_allowance_exhausted", `its reads are used up; ${known}`);
      break;
    }
    default:
      stopCaring(operation, denied.code, denied.message);
  }
  await core.ledger.record("operation.stopped", [], [operationRow(core, operation)]);
}

import { type Clock, isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AuditLog, LogLimits } from "../audit-log.ts";
import type { NewEvent } from "../event.ts";
import type { WriterLock } from "../lock.ts";
import type { Head, IntentReceipt } from "../receipt.ts";
import type { Scheduler } from "../scheduler.ts";
import { type Batch, wipeBatch } from "./batch.ts";
import { type ChainOptions, startChain } from "./chain.ts";
import { startFlushing } from "./flush.ts";
import { startQueue } from "./queue.ts";
import { startSealTimer } from "./seal-timer.ts";
import type { Segment, SegmentStart } from "./segment.ts";

interface WriterOptions extends Omit<ChainOptions, "limits" | "seconds" | "onSeal"> {
  readonly clock: Pick<Clock, "wallMs">;
  readonly scheduler: Scheduler;
  readonly limits: LogLimits;
  readonly lock: WriterLock;
  readonly company?: () => number;
  readonly onFailure?: (failure: Denied) => void;
}

/** Something other than records that must take its turn between two frames. */
interface Errand {
  /** Waits until every queued record is on disk. */
  readonly last: boolean;
  readonly run: () => void;
  readonly resolve: (head: Head) => void;
  readonly reject: (error: Error) => void;
}

/** The loop behind an open log: one frame at a time, written, flushed, then acknowledged. */
export function startWriter(options: WriterOptions, start: SegmentStart, first: Segment): AuditLog {
  const { clock, scheduler, limits } = options;
  const queue = startQueue(limits);
  const flush = startFlushing(scheduler, limits.inlineFlushMs);
  const errands: Errand[] = [];
  const seconds = (): number => Math.floor(clock.wallMs() / 1000);
  const chain = startChain({ ...options, seconds, onSeal: () => timer.noteSeal() }, start, first);
  let durable = chain.head();
  let inFlight: Batch | null = null;
  let draining = false;
  let waitingAppends = 0;
  let section: (() => Buffer) | null = null;
  let failure: Denied | null = null;
  let closing: Promise<void> | null = null;

  const timer = startSealTimer({
    scheduler,
    limits,
    lastFrame: () => chain.head().frame,
    unsealed: () => chain.segment().unsealed(),
    // A refusal here means that the log has failed or is closing, and that is told elsewhere.
    seal: () => void errand(() => chain.seal()).catch(() => undefined),
  });

  function append(events: readonly NewEvent[]): Promise<IntentReceipt> {
    if (failure !== null) return Promise.reject(failure);
    if (closing !== null) return Promise.reject(new Denied("log_failed", "The audit log is closed."));
    try {
      const { promise } = queue.add(events).waiting;
      waitingAppends++;
      wake();
      return promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function errand(run: () => void, last = false): Promise<Head> {
    if (failure !== null) return Promise.reject(failure);
    if (closing !== null && !last) return Promise.reject(new Denied("log_failed", "The audit log is closed."));
    return new Promise((resolve, reject) => {
      errands.push({ last, run, resolve, reject });
      wake();
    });
  }

  const isIdle = (): boolean => queue.isEmpty() && errands.length === 0;

  /** The next loop turn: whoever wants to append on this one gets into the same frame. Who is alone waits for nobody. */
  function wake(): void {
    if (draining || failure !== null) return;
    draining = true;
    if (options.company?.() === 1) drain();
    else scheduler.soon(() => gather(limits.gatherTurns));
  }

  /** Most of those who are under way want this flush or the next one: a few turns of the loop are worth their company. */
  function gather(turns: number): void {
    const enough = (options.company?.() ?? 0) * limits.gatherShare;
    if (turns > 0 && waitingAppends < enough && errands.length === 0) scheduler.soon(() => gather(turns - 1));
    else drain();
  }

  /** Works through what waits, until nothing does or the disk has to be waited for. */
  function drain(): void {
    try {
      while (failure === null) {
        if (chain.isFull()) {
          chain.turn();
          durable = chain.head();
        }
        // Errands go first, or a seal would starve under load; the last one waits for the records before it.
        const due = errands[0];
        if (due !== undefined && (!due.last || queue.isEmpty())) {
          errands.shift();
          runErrand(due);
          continue;
        }
        const batch = queue.take();
        if (batch === undefined) break;
        waitingAppends = 0;
        const flushed = commit(batch);
        if (flushed !== undefined) {
          flushed.then(() => resume(batch)).catch(fail);
          // The key of the next frame is made while the disk is busy with this one.
          chain.segment().prepare();
          return;
        }
        acknowledge(batch);
        // Those who were just answered may append again at once and share the next frame.
        if (isIdle()) break;
      }
    } catch (error) {
      fail(error);
    }
    draining = false;
    if (failure === null && !isIdle()) wake();
  }

  function resume(batch: Batch): void {
    acknowledge(batch);
    drain();
  }

  function commit(batch: Batch): Promise<void> | undefined {
    inFlight = batch;
    const segment = chain.segment();
    segment.writeData(batch.bytes, batch.length, section?.() ?? null);
    wipeBatch(batch);
    return flush(segment.file);
  }

  function acknowledge(batch: Batch): void {
    inFlight = null;
    durable = chain.head();
    const receipt = { frame: durable.frame, at: clock.wallMs(), eventIds: batch.eventIds };
    batch.waiting.resolve(receipt as unknown as IntentReceipt);
    queue.release(batch);
    timer.noteFrame();
  }

  function runErrand({ run, resolve, reject }: Errand): void {
    try {
      run();
    } catch (error) {
      // A refusal is the asker's; anything else came from the disk and ends the log.
      reject(error instanceof Denied ? error : fail(error));
      return;
    }
    durable = chain.head();
    resolve(durable);
  }

  /** Fail-stop: after a failed write or flush nobody knows what is on the disk, and no retry can tell. */
  function fail(error: unknown): Denied {
    if (failure !== null) return failure;
    const detail = error instanceof Error ? error.message : String(error);
    const denied = new Denied("log_failed", `The audit log stopped at ${isoTime(clock.wallMs())}: ${detail}`);
    failure = denied;
    timer.stop();
    queue.reject(denied, inFlight);
    inFlight = null;
    for (const { reject } of errands) reject(denied);
    errands.length = 0;
    options.onFailure?.(denied);
    return denied;
  }

  async function close(): Promise<void> {
    timer.stop();
    try {
      if (failure === null) await errand(() => chain.finish(), true);
    } finally {
      chain.segment().abandon();
      quietly(() => chain.dropAhead());
      quietly(() => chain.segment().file.close());
      options.lock.release();
    }
  }

  return {
    logId: start.logId.toString("hex"),
    opened: { reason: start.reason === "rotate" ? "boot" : start.reason, tornBytes: start.tornLength },
    append,
    hasRoom: queue.hasRoom,
    head: () => durable,
    failure: () => failure,
    offerAttestation: async () => chain.offer(await errand(() => chain.seal())),
    isAttestable: chain.isAttestable,
    attest: (statement) => errand(() => chain.attest(statement)),
    seal: () => errand(() => chain.seal()),
    stamp(next) {
      section = next;
    },
    rotate: (change) => errand(() => chain.turn(change)),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function quietly(run: () => void): void {
  try {
    run();
  } catch {
    // The log has failed already; there is nobody left to tell.
  }
}

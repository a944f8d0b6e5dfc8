import type { Clock, Random } from "../../kernel/clock.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { readAttestation } from "../attestation.ts";
import type { AuditLog, LogLimits, SegmentSettings } from "../audit-log.ts";
import type { NewEvent } from "../event.ts";
import type { LogFiles } from "../files.ts";
import { HASH_BYTES } from "../frame/bodies.ts";
import { ATTEST_FLAG_UNCLEAN, ATTESTABLE_HEADS } from "../frame/layout.ts";
import type { WriterLock } from "../lock.ts";
import type { Head, IntentReceipt } from "../receipt.ts";
import type { Scheduler } from "../scheduler.ts";
import { addToBatch, type Batch, clearBatch, makeBatch, type Sequences, wipeBatch } from "./batch.ts";
import { startSealTimer } from "./seal-timer.ts";
import { createSegment, type Segment, type SegmentStart } from "./segment.ts";
import { checkSettings } from "./settings.ts";

interface WriterOptions extends SegmentSettings {
  readonly clock: Pick<Clock, "wallMs">;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly files: LogFiles;
  readonly limits: LogLimits;
  readonly lock: WriterLock;
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

/** How much one flush moves the average that decides between inline and thread pool. */
const FLUSH_WEIGHT = 0.1;

/** The loop behind an open log: one frame at a time, written, flushed, then acknowledged. */
export function startWriter(options: WriterOptions, start: SegmentStart, first: Segment): AuditLog {
  const { clock, scheduler, limits, files } = options;
  const sequences: Sequences = { activity: 0, previews: 0, sessions: 0, gateway: 0 };
  const queue: Batch[] = [];
  const spare: Batch[] = [];
  const errands: Errand[] = [];
  const seals = new Map<number, Buffer>([[first.openFrame, first.openLink]]);
  let settings: SegmentSettings = options;
  let segment = first;
  let queuedBytes = 0;
  let draining = false;
  let flushMs = 0;
  let failure: Denied | null = null;
  let closing: Promise<void> | null = null;

  const headNow = (): Head => {
    const { frame, link } = segment.head();
    return { segment: segment.number, frame, link: link.toString("hex") };
  };
  let durable = headNow();

  const seconds = (): number => Math.floor(clock.wallMs() / 1000);

  function append(events: readonly NewEvent[]): Promise<IntentReceipt> {
    if (failure !== null) return Promise.reject(failure);
    if (closing !== null) return Promise.reject(new Denied("log_failed", "The audit log is closed."));
    if (queuedBytes > limits.queueBytes) {
      const message = "More events wait for the disk than the log may hold; nothing was recorded.";
      return Promise.reject(new Denied("log_backlogged", message, { retryAllowed: true }));
    }
    try {
      const batch = enqueue(events);
      wake();
      return batch.waiting.promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function enqueue(events: readonly NewEvent[]): Batch {
    let batch = queue.at(-1);
    const before = batch?.length ?? 0;
    if (batch === undefined || !addToBatch(batch, events, sequences, limits.recordBytes)) {
      batch = spare.pop() ?? makeBatch(limits.frameBytes);
      if (!addToBatch(batch, events, sequences, limits.recordBytes)) {
        spare.push(batch);
        throw new Denied("log_event_too_large", "The events of one append are larger than a frame may be.");
      }
      queue.push(batch);
      queuedBytes += batch.length;
    } else queuedBytes += batch.length - before;
    return batch;
  }

  function errand(run: () => void, last = false): Promise<Head> {
    if (failure !== null) return Promise.reject(failure);
    if (closing !== null && !last) return Promise.reject(new Denied("log_failed", "The audit log is closed."));
    return new Promise((resolve, reject) => {
      errands.push({ last, run, resolve, reject });
      wake();
    });
  }

  /** The next loop turn: whoever wants to append on this one gets into the same frame. */
  function wake(): void {
    if (draining || failure !== null) return;
    draining = true;
    scheduler.soon(() => void drain());
  }

  async function drain(): Promise<void> {
    try {
      while (failure === null) {
        if (segment.position() > limits.segmentBytes) turnSegment();
        // Errands go first, or a seal would starve under load; the last one waits for the records before it.
        const due = errands[0];
        if (due !== undefined && (!due.last || queue.length === 0)) {
          errands.shift();
          runErrand(due);
          continue;
        }
        const batch = queue.shift();
        if (batch === undefined) break;
        const flushed = commit(batch);
        if (flushed !== undefined) await flushed;
        acknowledge(batch);
        // Those who were just answered may append again at once and share the next frame.
        if (queue.length === 0 && errands.length === 0) break;
      }
    } catch (error) {
      fail(error);
    }
    draining = false;
    if (failure === null && (queue.length > 0 || errands.length > 0)) wake();
  }

  let inFlight: Batch | null = null;

  function commit(batch: Batch): Promise<void> | undefined {
    inFlight = batch;
    segment.writeData(batch.bytes, batch.length);
    wipeBatch(batch);
    return flush();
  }

  function acknowledge(batch: Batch): void {
    inFlight = null;
    durable = headNow();
    queuedBytes -= batch.length;
    const { frame } = durable;
    batch.waiting.resolve({ frame, at: clock.wallMs(), eventIds: batch.eventIds } as unknown as IntentReceipt);
    clearBatch(batch);
    if (spare.length < 2) spare.push(batch);
    timer.noteFrame();
  }

  /** Inline while flushes are short, since the thread pool costs more than it saves; there when the disk is slow. */
  function flush(): Promise<void> | undefined {
    const began = scheduler.nowMs();
    const note = (): void => {
      flushMs += (scheduler.nowMs() - began - flushMs) * FLUSH_WEIGHT;
    };
    if (flushMs < limits.inlineFlushMs) {
      segment.file.syncInline();
      note();
      return undefined;
    }
    return segment.file.sync().then(note);
  }

  function runErrand({ run, resolve, reject }: Errand): void {
    try {
      run();
    } catch (error) {
      // A refusal is the asker's; anything else came from the disk and ends the log.
      if (!(error instanceof Denied)) {
        reject(fail(error));
        return;
      }
      reject(error);
      return;
    }
    resolve(durable);
  }

  function sealNow(end: "none" | "clean" | "rotate"): void {
    segment.writeSeal(end, seconds());
    segment.file.syncInline();
    durable = headNow();
    seals.set(durable.frame, segment.head().link);
    if (seals.size > ATTESTABLE_HEADS) for (const [oldest] of seals) if (seals.delete(oldest)) break;
    timer.noteSeal();
  }

  function turnSegment(): void {
    sealNow("rotate");
    const previous = segment;
    const { frame, link } = previous.head();
    const sealKey = previous.takeSealKey();
    const previousLength = previous.position();
    previous.finish();
    segment = createSegment(
      files,
      {
        logId: start.logId,
        segment: previous.number + 1,
        reason: "rotate",
        frame: frame + 1,
        link,
        previousLength,
        tornLength: 0,
        tornHash: Buffer.alloc(HASH_BYTES),
        ...settings,
        sealKey,
        timeSeconds: seconds(),
      },
      options.random,
      limits.spaceBytes,
    );
    previous.file.close();
    seals.set(segment.openFrame, segment.openLink);
    // The first thing in every segment: no record may stand before a seal vouches for the OPEN.
    sealNow("none");
  }

  const timer = startSealTimer({
    scheduler,
    limits,
    lastFrame: () => segment.head().frame,
    unsealed: () => segment.unsealed(),
    // A refusal here means that the log has failed or is closing, and that is told elsewhere.
    seal: () => void errand(() => sealNow("none")).catch(() => undefined),
  });

  /** Fail-stop: after a failed write or flush nobody knows what is on the disk, and no retry can tell. */
  function fail(error: unknown): Denied {
    if (failure !== null) return failure;
    const detail = error instanceof Error ? error.message : String(error);
    const denied = new Denied("log_failed", `The audit log stopped at ${isoTime(clock.wallMs())}: ${detail}`);
    failure = denied;
    timer.stop();
    for (const batch of inFlight === null ? queue : [inFlight, ...queue]) {
      batch.waiting.reject(denied);
      wipeBatch(batch);
      clearBatch(batch);
    }
    for (const { reject } of errands) reject(denied);
    queue.length = 0;
    errands.length = 0;
    inFlight = null;
    options.onFailure?.(denied);
    return denied;
  }

  async function close(): Promise<void> {
    timer.stop();
    try {
      if (failure === null) {
        await errand(() => {
          sealNow("clean");
          segment.finish();
          segment.file.syncInline();
        }, true);
      }
    } finally {
      segment.abandon();
      quietly(() => segment.file.close());
      options.lock.release();
    }
  }

  return {
    logId: start.logId.toString("hex"),
    opened: { reason: start.reason === "rotate" ? "boot" : start.reason, tornBytes: start.tornLength },
    append,
    head: () => durable,
    failure: () => failure,
    async offerAttestation() {
      const head = await errand(() => sealNow("none"));
      return {
        logId: Buffer.from(start.logId),
        openFrame: first.openFrame,
        openLink: first.openLink,
        headFrame: head.frame,
        headLink: Buffer.from(head.link, "hex"),
        beforeFrame: Math.max(0, start.frame - 1),
        beforeLink: Buffer.from(start.link),
        unclean: start.reason === "crash",
      };
    },
    attest(statement) {
      return errand(() => {
        const flags = statement[0] ?? 0;
        const body = statement.subarray(1);
        checkAttestation(readAttestation(start.logId, flags, body), flags);
        segment.writeAttest(flags, body);
        segment.file.syncInline();
        sealNow("none");
      });
    },
    seal: () => errand(() => sealNow("none")),
    rotate(change = {}) {
      return errand(() => {
        const next = { ...settings, ...change };
        checkSettings(next);
        settings = next;
        turnSegment();
      });
    },
    close() {
      closing ??= close();
      return closing;
    },
  };

  function checkAttestation(attest: ReturnType<typeof readAttestation>, flags: number): void {
    const own =
      attest !== undefined &&
      attest.openFrame === first.openFrame &&
      attest.openLink.equals(first.openLink) &&
      attest.beforeLink.equals(start.link) &&
      seals.get(attest.headFrame)?.equals(attest.headLink) === true &&
      flags === (start.reason === "crash" ? ATTEST_FLAG_UNCLEAN : 0);
    if (!own) throw new Denied("log_attestation_refused", "The statement is not about what this process wrote.");
  }
}

function quietly(run: () => void): void {
  try {
    run();
  } catch {
    // The log has failed already; there is nobody left to tell.
  }
}

import type { Clock, Random } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { AuditLog, LogLimits, SegmentSettings } from "./audit-log.ts";
import type { LogFiles } from "./files.ts";
import { HASH_BYTES, LOG_ID_BYTES } from "./frame/bodies.ts";
import { GENESIS_LINK } from "./frame/layout.ts";
import { makeSealKey } from "./keys/seal-key.ts";
import { takeWriterLock } from "./lock.ts";
import { nodeLogFiles } from "./node-files.ts";
import { nodeScheduler, type Scheduler } from "./scheduler.ts";
import { findEnd, type LogEnd } from "./write/recover.ts";
import { createSegment, type SegmentStart } from "./write/segment.ts";
import { checkSettings } from "./write/settings.ts";
import { startWriter } from "./write/writer.ts";

export interface LogOptions extends SegmentSettings {
  readonly folder: string;
  readonly clock: Pick<Clock, "wallMs">;
  readonly random: Random;
  readonly scheduler?: Scheduler;
  readonly files?: LogFiles;
  readonly limits?: Partial<LogLimits>;
  /** How many are under way who each append again soon: a flush waits a little for most of them, and not for nobody. */
  readonly company?: () => number;
  /** Called once, when a write or a flush failed and the log stopped. */
  readonly onFailure?: (failure: Denied) => void;
}

export const logLimits: LogLimits = {
  segmentBytes: defaults.logSegmentBytes,
  frameBytes: defaults.logFrameBytes,
  recordBytes: defaults.logRecordBytes,
  queueBytes: defaults.logQueueBytes,
  spaceBytes: defaults.logSpaceBytes,
  sealTickMs: defaults.logSealTickMs,
  sealBusyMs: defaults.logSealBusyMs,
  heartbeatMs: defaults.logHeartbeatMs,
  inlineFlushMs: defaults.logInlineFlushMs,
  gatherTurns: defaults.logGatherTurns,
  gatherShare: defaults.logGatherShare,
};

export async function openLog(options: LogOptions): Promise<AuditLog> {
  const files = options.files ?? nodeLogFiles(options.folder);
  checkSettings(options);
  try {
    files.prepare();
    const lock = takeWriterLock(options.folder);
    try {
      const end = findEnd(files);
      const limits = { ...logLimits, ...options.limits };
      const start = startAfter(end, options);
      const segment = createSegment(files, start, options.random, limits.spaceBytes);
      const log = startWriter(
        { ...options, files, limits, lock, scheduler: options.scheduler ?? nodeScheduler },
        start,
        segment,
      );
      try {
        await log.seal();
      } catch (error) {
        await log.close().catch(() => undefined);
        throw error;
      }
      return log;
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    throw error instanceof Denied ? error : failedToOpen(error);
  }
}

function startAfter(end: LogEnd | undefined, options: LogOptions): SegmentStart {
  const settings = {
    vaultGeneration: options.vaultGeneration,
    vaultHash: options.vaultHash,
    recipients: options.recipients,
    sealKey: makeSealKey(options.random),
    timeSeconds: Math.floor(options.clock.wallMs() / 1000),
  };
  if (end === undefined) {
    return {
      ...settings,
      logId: options.random.bytes(LOG_ID_BYTES),
      segment: 1,
      reason: "genesis",
      frame: 0,
      link: GENESIS_LINK,
      previousLength: 0,
      tornLength: 0,
      tornHash: Buffer.alloc(HASH_BYTES),
    };
  }
  return {
    ...settings,
    logId: end.logId,
    segment: end.segment + 1,
    reason: end.clean ? "boot" : "crash",
    frame: end.nextFrame,
    link: end.link,
    previousLength: end.previousLength,
    tornLength: end.tornLength,
    tornHash: end.tornHash,
  };
}

function failedToOpen(error: unknown): Denied {
  const detail = error instanceof Error ? error.message : String(error);
  return new Denied("log_failed", `The audit log could not be opened: ${detail}`);
}

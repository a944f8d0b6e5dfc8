import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { AuditLog } from "./audit-log.ts";
import { verifyLog } from "./verify/verify.ts";

/** A log that can be opened again after it failed, once what stands on the disk has verified itself. */
export interface ResumableLog extends AuditLog {
  /**
   * Denied `log_failed` where the disk still refuses, the log does not hold, or it has not all that was told as written. A log that
   * works is verified and left as it is.
   */
  resume(): Promise<void>;
}

const PROBE_BYTES = 2 * defaults.logSpaceBytes;

/** Tried before a new segment begins: one that could not be written on would stand in the log for good. */
function requireRoom(folder: string): void {
  const path = join(folder, "room.new");
  try {
    rmSync(path, { force: true });
    writeFileSync(path, Buffer.alloc(PROBE_BYTES), { mode: 0o600, flush: true, flag: "wx" });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Denied("log_failed", `There is still no room for the log: ${why}.`);
  } finally {
    rmSync(path, { force: true });
  }
}

export async function openResumable(folder: string, open: () => Promise<AuditLog>): Promise<ResumableLog> {
  let log = await open();
  let section: (() => Buffer) | null = null;
  const { logId, opened } = log;
  return {
    logId,
    opened,
    append: (events) => log.append(events),
    hasRoom: () => log.hasRoom(),
    head: () => log.head(),
    offerAttestation: () => log.offerAttestation(),
    isAttestable: (head) => log.isAttestable(head),
    attest: (statement) => log.attest(statement),
    seal: () => log.seal(),
    stamp(next) {
      section = next;
      log.stamp(next);
    },
    rotate: (change) => log.rotate(change),
    failure: () => log.failure(),
    close: () => log.close(),
    async resume() {
      const failed = log.failure() !== null;
      if (failed) await log.close().catch(() => undefined);
      const report = await verifyLog({ folder, allowUnattested: true, heads: [log.head()] });
      if (report.exit !== 0) {
        const why = report.firstBreach?.code ?? "unreadable";
        throw new Denied(
          "log_failed",
          `The log does not hold (${why}): look at it with gw audit verify, and start the gateway anew.`,
        );
      }
      requireRoom(folder);
      if (!failed) return;
      log = await open();
      if (section !== null) log.stamp(section);
    },
  };
}

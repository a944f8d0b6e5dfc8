import { Denied } from "../kernel/failure.ts";
import type { AuditLog } from "./audit-log.ts";
import { verifyLog } from "./verify/verify.ts";

/** A log that can be opened again after it failed, once what stands on the disk has verified itself. */
export interface ResumableLog extends AuditLog {
  /** Denied `log_failed` where the disk still refuses or the log does not hold. A log that works is left alone. */
  resume(): Promise<void>;
}

export async function openResumable(folder: string, open: () => Promise<AuditLog>): Promise<ResumableLog> {
  let log = await open();
  const { logId, opened } = log;
  return {
    logId,
    opened,
    append: (events) => log.append(events),
    head: () => log.head(),
    offerAttestation: () => log.offerAttestation(),
    attest: (statement) => log.attest(statement),
    seal: () => log.seal(),
    rotate: (change) => log.rotate(change),
    failure: () => log.failure(),
    close: () => log.close(),
    async resume() {
      if (log.failure() === null) return;
      await log.close().catch(() => undefined);
      const report = await verifyLog({ folder, allowUnattested: true });
      if (report.exit !== 0) {
        const why = report.firstBreach?.code ?? "unreadable";
        throw new Denied(
          "log_failed",
          `The log does not hold (${why}): look at it with gw audit verify, and start the gateway anew.`,
        );
      }
      log = await open();
    },
  };
}

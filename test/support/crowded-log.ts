import type { NewEvent } from "../../src/audit/event.ts";
import type { AuditSink } from "../../src/gateway/ports.ts";
import { Denied } from "../../src/kernel/failure.ts";

/** The real log of a bench, with so much before it as a test says: while it is full it takes nothing. */
export interface CrowdedLog {
  full: boolean;
  /** It is full once it has an event of this type. */
  fullAfter: NewEvent["event_type"] | null;
  readonly wrapAudit: (sink: AuditSink) => AuditSink;
}

export function crowdedLog(): CrowdedLog {
  const log: CrowdedLog = {
    full: false,
    fullAfter: null,
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => !log.full && sink.hasRoom(),
      async append(events) {
        if (log.full) throw new Denied("log_backlogged", "full");
        const receipt = await sink.append(events);
        if (events.some(({ event_type }) => event_type === log.fullAfter)) log.full = true;
        return receipt;
      },
    }),
  };
  return log;
}

import type { IssuerKey, TicketEvidence } from "../../conventions/ticket/verify.ts";
import type { Run } from "../run/run.ts";

/** What people and trusted issuers attached to live runs, the latest for each. It ends with the run. */
export interface Tickets {
  of(run: Run): TicketEvidence | null;
  put(run: Run, evidence: TicketEvidence): void;
  issuers(): readonly IssuerKey[];
}

export function createTickets(issuers: () => readonly IssuerKey[]): Tickets {
  const attached = new WeakMap<Run, TicketEvidence>();
  return {
    of: (run) => attached.get(run) ?? null,
    put: (run, evidence) => void attached.set(run, evidence),
    issuers,
  };
}

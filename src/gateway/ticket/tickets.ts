import { splitReference } from "../../conventions/ticket/context.ts";
import type { TicketService } from "../../conventions/ticket/lookup.ts";
import type { IssuerKey, TicketEvidence } from "../../conventions/ticket/verify.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Run } from "../run/run.ts";

/** A ticket as one call uses it: what was on the card is what counts until the call is over. */
export interface TicketUse {
  /** Attached to the run for whatever it covers, or entered with the approval of this very call. */
  readonly of: "run" | "call";
  readonly evidence: TicketEvidence;
  /** The call's own, and those of the plan it carries out. */
  readonly arguments: JsonObject;
  /** What the trusted service of the ticket's system said when it was last asked. */
  readonly lookup?: TicketLookup;
}

export interface TicketLookup {
  readonly action: string;
  readonly attemptId: string;
  readonly state: string;
  readonly at: string;
  readonly bootMs: number;
}

/** What people and trusted issuers attached to live runs, the latest for each. It ends with the run. */
export interface Tickets {
  of(run: Run): TicketEvidence | null;
  put(run: Run, evidence: TicketEvidence): void;
  issuers(): readonly IssuerKey[];
  /** The service that has to confirm tickets of this system; null where policy names none. */
  serviceOf(evidence: TicketEvidence): TicketService | null;
  services(): readonly TicketService[];
}

export function createTickets(
  issuers: () => readonly IssuerKey[],
  services: () => readonly TicketService[] = () => [],
): Tickets {
  const attached = new WeakMap<Run, TicketEvidence>();
  return {
    of: (run) => attached.get(run) ?? null,
    put: (run, evidence) => void attached.set(run, evidence),
    issuers,
    services,
    serviceOf({ context }) {
      const { system } = splitReference(context.ticket_ref);
      return services().find((service) => service.system === system) ?? null;
    },
  };
}

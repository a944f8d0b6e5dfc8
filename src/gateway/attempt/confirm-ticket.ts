import { locationOf } from "../../conventions/action/send.ts";
import { splitReference } from "../../conventions/ticket/context.ts";
import { type Confirmed, readLookup, type TicketService, unconfirmed } from "../../conventions/ticket/lookup.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { requireCredential } from "../outbound/admit.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import { sendOf } from "../outbound/request.ts";
import { observedEvent } from "../ticket/attach.ts";
import { isFresh } from "../ticket/ticket.ts";
import type { TicketLookup, TicketUse } from "../ticket/tickets.ts";
import { attempt } from "./attempt.ts";
import { bindRead } from "./bind-read.ts";
import type { AttemptNeeds } from "./needs.ts";
import { readJson } from "./read-json.ts";
import type { Attempted, Beside, Sending } from "./sending.ts";

/**
 * The checkpoint of a ticket whose system has a trusted service: the gateway reads the ticket itself, as an attempt of its
 * own, and the call goes on only when the service says that exactly this ticket is open and allows it. The reference is
 * the signed context's, never the agent's. Asked again once its last word is old, and where a redirect leads elsewhere.
 */
export async function confirmTicket(core: AttemptNeeds, sending: Sending): Promise<Sending> {
  const { ticket } = sending;
  const service = ticket === undefined ? null : core.tickets.serviceOf(ticket.evidence);
  if (ticket === undefined || service === null || isFresh(core, service, ticket)) return sending;
  return { ...sending, ticket: { ...ticket, lookup: await lookUp(core, sending, ticket, service) } };
}

async function lookUp(
  core: AttemptNeeds,
  sending: Sending,
  ticket: TicketUse,
  service: TicketService,
): Promise<TicketLookup> {
  const { reference } = splitReference(ticket.evidence.context.ticket_ref);
  const wanted: Confirmed = {
    reference,
    operation: sending.outbound.action,
    location: locationOf(sending.request),
    arguments: ticket.arguments,
  };
  const outbound = bindLookup(core, service, wanted);
  const { run, session, callId, authorization, holder } = sending;
  let found: string | Denied = unconfirmed(service, wanted, "it was not asked");
  const { attemptId } = await attempt(core, {
    ...{ errand: "confirm", run, session, callId, authorization, holder, outbound },
    request: sendOf(core, outbound, callId),
    credential: outbound.credential,
    after: (attempted): Beside => {
      found = judge(service, attempted, wanted);
      const { context, scopeDigest } = ticket.evidence;
      const at = isoTime(core.ports.clock.wallMs());
      const [state, code] = found instanceof Denied ? (["unconfirmed", found.code] as const) : ([found, null] as const);
      return { events: [observedEvent(core, run, { at, state }, context, scopeDigest, code)], rows: [] };
    },
  });
  if (found instanceof Denied) throw found;
  const { clock } = core.ports;
  return { action: service.action, attemptId, state: found, at: isoTime(clock.wallMs()), bootMs: clock.bootMs() };
}

/** What was confirmed for one place says nothing of another. */
export function forgetLookup(sending: Sending): Sending {
  if (sending.ticket === undefined) return sending;
  const { lookup: _, ...ticket } = sending.ticket;
  return { ...sending, ticket };
}

/** The read as it is trusted now. One that would need a person, a ticket or a plan is none that can be made here. */
function bindLookup(
  core: Pick<AttemptNeeds, "credentials" | "packs" | "ports">,
  service: TicketService,
  wanted: Confirmed,
): Outbound {
  const reader = core.packs().find(service.action);
  if (reader === null) throw unconfirmed(service, wanted, "no trusted pack has that action");
  const { effect, needs, pages } = reader.action;
  if (effect !== "read" || pages !== null || needs.ticket || needs.plan !== null || needs.approval === "each_use") {
    throw unconfirmed(service, wanted, "that action is not a plain read");
  }
  const outbound = bindReference(reader, service, wanted);
  if (outbound === null) throw unconfirmed(service, wanted, "that action does not take that reference, or needs more");
  if (outbound.channel !== "http") throw unconfirmed(service, wanted, "that action is not a plain read");
  if (requireCredential(core, outbound).eachUse) {
    throw unconfirmed(service, wanted, "its credential asks on every use, and nobody is there to ask");
  }
  return outbound;
}

function bindReference(
  reader: Definition,
  { referenceInput }: TicketService,
  { reference }: Confirmed,
): Outbound | null {
  try {
    return bindRead(reader, { [referenceInput]: reference });
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

function judge(service: TicketService, { verdict }: Attempted, wanted: Confirmed): string | Denied {
  if (verdict.kind !== "success") return unconfirmed(service, wanted, "it gave no good answer");
  try {
    return readLookup(service, readJson(verdict.observation), wanted);
  } catch (error) {
    if (error instanceof Denied) return error;
    throw error;
  }
}

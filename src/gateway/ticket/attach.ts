import type { NewEvent } from "../../audit/event.ts";
import type { DecisionStatement } from "../../conventions/approval/decision.ts";
import { narrowBudget } from "../../conventions/budget/budget.ts";
import { readLimits } from "../../conventions/budget/record.ts";
import { splitReference, type WorkContext } from "../../conventions/ticket/context.ts";
import { requireExactly, type TicketNeed } from "../../conventions/ticket/need.ts";
import { bindContext, type TicketEvidence, ticketOutlives, verifyContext } from "../../conventions/ticket/verify.ts";
import { isoTime } from "../../kernel/clock.ts";
import type { Code } from "../../kernel/codes.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Accept } from "../approval/question.ts";
import type { Run } from "../run/run.ts";
import type { TicketNeeds } from "./needs.ts";
import type { TicketUse } from "./tickets.ts";

/** Attaches a signed work context to its run. */
export async function attachTicket(core: TicketNeeds, run: Run, token: string): Promise<TicketEvidence> {
  if (run.state === "ended") throw new Denied("run_ended", `The run ended (${run.endReason ?? "no reason kept"}).`);
  const { evidence, event } = await verifyTicket(core, run, token, () => undefined);
  await core.ledger.record("ticket.attached", [event]);
  core.tickets.put(run, evidence);
  return evidence;
}

/** A ticket that whoever approves a call has to name. It counts for that call alone, once the approval stands. */
export interface TicketEntry {
  readonly need: TicketNeed;
  readonly accept: Accept;
  use(): TicketUse;
}

export function openEntry(core: TicketNeeds, run: Run, need: TicketNeed, args: JsonObject): TicketEntry {
  let taken: TicketEvidence | null = null;
  return {
    need,
    async accept({ statement }) {
      if (statement.ticket_context === undefined) {
        throw new Denied(
          "approval_needs_ticket",
          `${need.operation} needs a ticket, and this run has none. Approve it with the ticket's reference: gw approve ${statement.approval_id} --ticket SYSTEM:REF`,
        );
      }
      const { evidence, event } = await verifyTicket(core, run, statement.ticket_context, (found) => {
        requireSigner(found, statement);
        requireExactly(found.context, need);
      });
      return {
        events: [event],
        take: () => {
          taken = evidence;
        },
      };
    },
    use() {
      if (taken === null) throw new Fault("a call that needs a ticket was approved without one");
      return { of: "call", evidence: taken, arguments: args };
    },
  };
}

/** A person who lets a run begin may assign its work in the same breath; the context is then the run's. */
export function acceptForRun(core: TicketNeeds, run: Run): Accept {
  return async ({ statement }) => {
    if (statement.ticket_context === undefined) return { events: [], take: () => undefined };
    const { evidence, event } = await verifyTicket(core, run, statement.ticket_context, (found) => {
      requireSigner(found, statement);
      requireWithin(found, run, statement.narrow);
    });
    return { events: [event], take: () => core.tickets.put(run, evidence) };
  };
}

/** Who decides assigns: a context that somebody else signed is attached by itself, not slipped in with an approval. */
function requireSigner({ issuer }: TicketEvidence, { operator_key_id }: DecisionStatement): void {
  if (issuer.kind === "operator" && issuer.keyId === operator_key_id) return;
  throw new Denied("ticket_signature_invalid", "The work context in an approval is signed by whoever approves.");
}

/** A run that is granted less time than it asked for takes its ticket with it. */
function requireWithin({ context }: TicketEvidence, { budget }: Run, narrow: DecisionStatement["narrow"]): void {
  const limits = narrow?.budget ?? null;
  if (limits === null) return;
  const { deadlineAt } = narrowBudget(budget, readLimits(limits, budget.limits));
  if (Date.parse(context.expires_at) > Date.parse(deadlineAt)) throw ticketOutlives(context, deadlineAt);
}

/** Verified and bound to the run, with its record. What is refused is recorded here, with the reason and none of its words. */
async function verifyTicket(
  core: TicketNeeds,
  run: Run,
  token: string,
  requireMore: (evidence: TicketEvidence) => void,
): Promise<{ readonly evidence: TicketEvidence; readonly event: NewEvent }> {
  const { clock } = core.ports;
  const at = isoTime(clock.wallMs());
  let signed: WorkContext | null = null;
  try {
    const verified = await verifyContext(token, core.tickets.issuers());
    signed = verified.context;
    const moment = { wallMs: clock.wallMs(), bootMs: clock.bootMs(), at };
    const evidence = bindContext(verified, { id: run.id, deadlineAt: run.budget.deadlineAt }, moment);
    requireMore(evidence);
    return {
      evidence,
      event: observedEvent(core, run, { at, state: null }, evidence.context, evidence.scopeDigest, null),
    };
  } catch (error) {
    if (error instanceof Denied)
      await core.ledger.record("ticket.refused", [
        observedEvent(core, run, { at, state: null }, signed, "", error.code),
      ]);
    throw error;
  }
}

/** What was seen of a ticket, and whether it counts. A state of null is the one that its context names. */
export function observedEvent(
  core: Pick<TicketNeeds, "envelope">,
  run: Run,
  { at, state }: { readonly at: string; readonly state: string | null },
  context: WorkContext | null,
  scopeDigest: string,
  code: Code | null,
): NewEvent {
  const { system, reference } = context === null ? UNVERIFIED : splitReference(context.ticket_ref);
  return {
    ...core.envelope("ticket_observed"),
    run_id: run.id,
    ...batchOf(context),
    system,
    ticket_ref: reference,
    observed_state: state ?? context?.observed_state ?? "unverified",
    observed_at: at,
    scope_digest: scopeDigest,
    issued_for_run: context?.issued_for_run ?? "unverified",
    expires_at: context?.expires_at ?? "unverified",
    accepted: code === null,
    code,
  };
}

const UNVERIFIED = { system: "unverified", reference: "unverified" } as const;

export function batchOf(context: WorkContext | null) {
  return context?.batch ?? {};
}

import { showIdentifier, showText } from "../../kernel/display.ts";
import type { TicketNeed } from "../ticket/need.ts";
import type { CardTicket } from "./card.ts";
import { entry, list, quote } from "./render-line.ts";

/** Why this work is being done, by whose word. An emergency is said before everything else. */
export function ticketLines(ticket: CardTicket): readonly string[] {
  const { emergency, batch } = ticket;
  const who = ticket.issued_by_kind === "operator" ? "operator" : "configured issuer";
  return [
    ...(emergency === null
      ? []
      : [
          entry("EMERGENCY", `${quote(emergency.reason)}, declared by ${showIdentifier(ticket.issued_by)}`),
          entry(
            "normal ticket",
            emergency.normal_ticket_opened_at === null
              ? "NOT OPENED when this was declared"
              : `opened at ${showText(emergency.normal_ticket_opened_at)}`,
          ),
        ]),
    entry("ticket", `${showIdentifier(ticket.reference)} in ${showIdentifier(ticket.system)}`),
    entry("its state", `${quote(ticket.observed_state)}, as the issuer saw it`),
    entry("signed by", `${who} ${showIdentifier(ticket.issued_by)} at ${showText(ticket.issued_at)}`),
    entry("good until", `${showText(ticket.expires_at)}, for this run alone`),
    ...list("covers operations", ticket.allowed_operations.map(showIdentifier)),
    ...list("at targets", ticket.allowed_targets.map(showIdentifier)),
    ...(batch === null
      ? []
      : [entry("batch", `${showIdentifier(batch.change_execution_id)}, ${showIdentifier(batch.manifest_digest)}`)]),
    entry("scope digest", showIdentifier(ticket.scope_digest)),
  ];
}

/** Nothing that the agent wrote satisfies it: whoever approves names the ticket, and signs that for exactly this. */
export function neededLines({ operation, target }: TicketNeed): readonly string[] {
  return [
    entry("ticket", "NEEDED: none is attached to this run, and what the agent says is none"),
    entry("to approve", "name it as SYSTEM:REF; you then sign that it covers this call and nothing else:"),
    entry("operation", showIdentifier(operation)),
    entry("at target", showIdentifier(target)),
  ];
}

import { followPointer } from "../../../packages/request/src/pointer.ts";
import { defaults } from "../../kernel/defaults.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { type CallTarget, coversTarget, readTarget, sayUncovered, type TicketTarget } from "./target.ts";

/**
 * A ticket service that signed policy trusts: which action reads a ticket, which of its inputs takes the reference, and
 * where its answer says what. Fields are JSON Pointers.
 */
export interface TicketService {
  /** The SYSTEM of the references that it knows. */
  readonly system: string;
  /** PACK.ACTION, a plain read. */
  readonly action: string;
  readonly referenceInput: string;
  readonly referenceField: string;
  readonly stateField: string;
  /** The states in which work under the ticket may go on, as the service writes them. */
  readonly openStates: readonly string[];
  /** Where the service itself limits the work; null where it does not say. */
  readonly targetsField: string | null;
  readonly operationsField: string | null;
}

/** What the answer has to confirm. */
export interface Confirmed extends CallTarget {
  readonly reference: string;
  readonly operation: string;
}

/** The state that the service says an open ticket is in. Whatever it leaves out, gets wrong or contradicts is a refusal. */
export function readLookup(service: TicketService, answer: JsonValue, wanted: Confirmed): string {
  const reference = followPointer(answer, service.referenceField);
  if (reference !== wanted.reference) {
    throw unconfirmed(service, wanted, "its answer is about another ticket, or does not say about which");
  }
  const state = followPointer(answer, service.stateField);
  if (typeof state !== "string" || state === "" || state.length > defaults.ticketStateCharacters) {
    throw unconfirmed(service, wanted, "its answer names no state");
  }
  if (!service.openStates.includes(state)) {
    throw new Denied(
      "ticket_not_open",
      `${service.system}:${wanted.reference} is "${showIdentifier(state)}", which policy does not count as open.`,
    );
  }
  requireListed(service, answer, wanted);
  return state;
}

function requireListed(service: TicketService, answer: JsonValue, wanted: Confirmed): void {
  const { operationsField, targetsField } = service;
  if (operationsField !== null && !textsAt(service, answer, operationsField, wanted).includes(wanted.operation)) {
    throw new Denied("ticket_scope_mismatch", `The ticket does not allow the operation ${wanted.operation}.`);
  }
  if (targetsField === null) return;
  const targets = textsAt(service, answer, targetsField, wanted).flatMap(targetIn);
  if (targets.some((target) => coversTarget(target, wanted))) return;
  throw new Denied("ticket_scope_mismatch", `The ticket does not allow the target ${sayUncovered(targets, wanted)}.`);
}

/** What the service wrote and is no target covers nothing. */
function targetIn(text: string): readonly TicketTarget[] {
  try {
    return [readTarget(text)];
  } catch (error) {
    if (error instanceof Denied) return [];
    throw error;
  }
}

function textsAt(service: TicketService, answer: JsonValue, field: string, wanted: Confirmed): readonly string[] {
  const found = followPointer(answer, field);
  if (!Array.isArray(found) || found.length > defaults.ticketEntries) {
    throw unconfirmed(service, wanted, `its answer has no list at ${field}`);
  }
  return found.map((one: JsonValue) => {
    if (typeof one === "string" && one.length <= defaults.ticketEntryCharacters) return one;
    throw unconfirmed(service, wanted, `its answer has something else than text at ${field}`);
  });
}

export function unconfirmed(
  { system, action }: TicketService,
  { reference }: Pick<Confirmed, "reference">,
  why: string,
): Denied {
  return new Denied(
    "ticket_unconfirmed",
    `${action} did not confirm ${system}:${reference}: ${why}. Nothing was sent.`,
  );
}

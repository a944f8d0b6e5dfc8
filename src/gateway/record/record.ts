import type { NewEvent } from "../../audit/event.ts";
import type { RunBudget } from "../../conventions/budget/budget.ts";
import { attemptsRemaining } from "../../conventions/budget/budget.ts";
import { type Clock, isoTime } from "../../kernel/clock.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";
import type { LiveCaller } from "../ports.ts";

/** Writes the envelope of an event. Everything else is the business of the room that knows what happened. */
export type Envelope = <Type extends NewEvent["event_type"]>(event_type: Type) => Enveloped<Type>;

export interface Enveloped<Type extends NewEvent["event_type"]> {
  readonly event_id: string;
  readonly event_type: Type;
  readonly occurred_at: string;
}

export function createEnvelope(ids: Ids, clock: Pick<Clock, "wallMs">): Envelope {
  return (event_type) => ({ event_id: ids.next("evt"), event_type, occurred_at: isoTime(clock.wallMs()) });
}

/** What the request log says of every call: the version selector, operation, boundary, credential label and correlation. */
export function requestFields(outbound: Outbound, correlationId: string, decision: string, status: number | null) {
  return {
    version_selector: outbound.versionSelector,
    normalized_operation: operationOf(outbound),
    target_boundary: outbound.reach.destination,
    credential_label: outbound.credential,
    decision,
    status,
    correlation_id: correlationId,
  };
}

export function operationOf({ method, reach }: Outbound): string {
  return `${method} ${reach.path}`;
}

/** The call-event fields of the specification, for reservations, settlements and budget denials. */
export function budgetFields(
  budget: RunBudget,
  call: Pick<Outbound, "action" | "channel"> & { readonly definition: Pick<Definition, "pack"> | null },
  rest: {
    readonly attempt: number;
    readonly outcome: string;
    readonly reason: string | null;
    readonly elapsedMs: number;
  },
) {
  return {
    run_id: budget.runId,
    attempt: rest.attempt,
    logical_operation: call.action,
    channel: call.channel,
    destination_class: destinationClass(call),
    outcome: rest.outcome,
    reason: rest.reason,
    attempts_remaining: attemptsRemaining(budget),
    elapsed_ms: Math.round(rest.elapsedMs),
    reserved_spend_cents: budget.reservedSpendCents,
  };
}

/** What kind of place it goes to. Whether it changes something there is the action's effect, not the destination's. */
export function destinationClass({ channel, definition }: Parameters<typeof budgetFields>[1]): string {
  switch (channel) {
    case "http": {
      const network = definition?.pack.provider?.network;
      return network === undefined ? "listed_url" : `${network}_api`;
    }
    case "ssh":
      return "ssh_host";
  }
}

/** The caller as journals show it: what the operating system says, the path as context. */
export function nameCaller({ evidence: { pathObserved, process } }: LiveCaller): string {
  return `${pathObserved} pid ${process.pid} uid ${process.uid}`;
}

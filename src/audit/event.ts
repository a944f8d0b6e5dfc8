import { attemptRecords } from "./event/attempts.ts";
import { callEvents } from "./event/calls.ts";
import { type Check, checkOf } from "./event/check.ts";
import { type EventShape, open, type RecordOf, shapeOf } from "./event/field.ts";
import { gatewayEvents } from "./event/gateway.ts";
import { operationEvents } from "./event/operations.ts";
import { previewEvents } from "./event/previews.ts";
import { requestEvents } from "./event/requests.ts";
import { sessionEvents } from "./event/sessions.ts";

/** Four paths with a sequence each. Previews stand apart, so that nothing mistakes one for a change. */
export type Journal = "activity" | "previews" | "sessions" | "gateway";

const envelope = {
  event_id: open.text,
  event_type: open.text,
  occurred_at: open.text,
  sequence: open.integer,
} as const;

const tables = {
  activity: { ...callEvents, ...operationEvents, ...requestEvents, ...attemptRecords },
  previews: previewEvents,
  sessions: sessionEvents,
  gateway: gatewayEvents,
} as const;

type Tables = typeof callEvents &
  typeof operationEvents &
  typeof requestEvents &
  typeof previewEvents &
  typeof sessionEvents &
  typeof gatewayEvents;

export type EventType = keyof Tables & string;

type EventsOf<All extends Record<string, EventShape>> = {
  [Type in keyof All & string]: {
    readonly event_id: string;
    readonly event_type: Type;
    readonly occurred_at: string;
  } & RecordOf<All[Type]>;
}[keyof All & string];

type AttemptRecord = EventsOf<typeof attemptRecords>;

/** What a caller hands to the log. The sequence within the journal is the log's to give. */
export type NewEvent = EventsOf<Tables> | AttemptRecord;

/** An event as a reader of the log meets it. */
export type AuditEvent = EventsOf<Tables> & { readonly sequence: number };
/** A record as it stands in the log; one of an attempt stands for several events. */
export type LogRecord = AuditEvent | (AttemptRecord & { readonly sequence: number });
type AttemptRecordOf<Type extends AttemptRecord["event_type"]> = Extract<AttemptRecord, { readonly event_type: Type }>;
export type AttemptBegun = AttemptRecordOf<"attempt_begun" | "call_begun">;
export type AttemptEnded = AttemptRecordOf<"attempt_ended" | "call_ended">;
/** The word about a request that goes with the end of its call. */
export type Asked = AttemptRecordOf<"call_ended">["asked"];
export type EventOf<Type extends EventType> = Extract<AuditEvent, { readonly event_type: Type }>;

export interface EventKind {
  readonly journal: Journal;
  readonly shape: EventShape;
  readonly check: Check;
}

const kinds: ReadonlyMap<string, EventKind> = new Map(
  (Object.keys(tables) as Journal[]).flatMap((journal) =>
    Object.entries(tables[journal]).map(([type, fields]): [string, EventKind] => {
      const shape = shapeOf({ ...envelope, ...fields });
      return [type, { journal, shape, check: checkOf(shape) }];
    }),
  ),
);

/** Undefined for a type that this version does not know: all its fields count as secret but the envelope's. */
export function kindOf(eventType: string): EventKind | undefined {
  return kinds.get(eventType);
}

export const envelopeShape: EventShape = shapeOf(envelope);
/** @internal All there are: tests go through each. */
export const eventTypes: readonly string[] = [...kinds.keys()];

/** How many events a record stands for: each has a sequence of its own. */
export function eventsIn(record: NewEvent): number {
  switch (record.event_type) {
    case "attempt_begun":
      return eventsBefore(record);
    case "attempt_ended":
      return eventsAfter(record);
    case "call_begun":
      return 1 + eventsBefore(record);
    case "call_ended":
      return eventsAfter(record) + (record.asked.fields === undefined ? 1 : 2);
    default:
      return 1;
  }
}

function eventsBefore({ authorized_by }: AttemptBegun): number {
  return authorized_by === undefined ? 3 : 4;
}

function eventsAfter({ unobserved }: AttemptEnded): number {
  return unobserved === true ? 4 : 3;
}

/** The run an event belongs to; the specification's records name it in three ways. */
export function runOf(event: AuditEvent | NewEvent): string | undefined {
  if ("run_id" in event) return event.run_id;
  if ("run" in event) return event.run;
  if ("agent_run_id" in event) return event.agent_run_id;
  return undefined;
}

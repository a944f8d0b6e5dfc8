import { Fault } from "../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";
import { conforms, fits, hasType, isObject } from "./event/check.ts";
import type { EventShape, FieldClass } from "./event/field.ts";
import {
  type AuditEvent,
  type EventKind,
  envelopeShape,
  type Journal,
  kindOf,
  type LogRecord,
  type NewEvent,
} from "./event.ts";

/** The one codec of a record: JSON text with the specification's field names, checked against the field tables. */
export const WITHHELD = "[secret]";
export const NO_PERSON = "[person]";

/** The kind of an event that is to be written. Only our own mistake can name one that there is not. */
export function knownKind(event: NewEvent): EventKind {
  const kind = kindOf(event.event_type);
  if (kind === undefined) throw new Fault(`no event is called ${event.event_type}`);
  return kind;
}

/**
 * The text of a record but its sequence, which the log puts first. A field that is not declared is written as `[secret]`,
 * so that a slip elsewhere cannot carry a credential into the log; a declared field of the wrong type is our own mistake.
 */
export function encodeEvent(event: NewEvent, kind: EventKind = knownKind(event)): string {
  return JSON.stringify(fits(kind.check, event) ? event : withholdUndeclared(kind.shape, event, event.event_type));
}

/** A record as it was read. `malformed` when the text is not a record that this version can trust the types of. */
export type Decoded =
  | { readonly kind: "event"; readonly journal: Journal; readonly event: LogRecord }
  | { readonly kind: "newer"; readonly event: JsonObject }
  | { readonly kind: "malformed"; readonly detail: string };

export function decodeRecord(text: string): Decoded {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return { kind: "malformed", detail: "not JSON" };
  }
  if (!isJsonObject(value)) return { kind: "malformed", detail: "not an object" };
  const type = value["event_type"];
  const kind = typeof type === "string" ? kindOf(type) : undefined;
  if (kind === undefined) {
    const wrong = firstMisfit(envelopeShape, value);
    return wrong === undefined ? { kind: "newer", event: value } : { kind: "malformed", detail: wrong };
  }
  if (conforms(kind.check, value))
    return { kind: "event", journal: kind.journal, event: value as unknown as LogRecord };
  return { kind: "malformed", detail: firstMisfit(kind.shape, value) ?? "not as declared" };
}

/** What may leave the operator's hands: undeclared and secret fields never, other classes as asked. */
export function redactRecord(record: AuditEvent | JsonObject, reveal: ReadonlySet<FieldClass>): JsonObject {
  const value = record as unknown as JsonObject;
  const type = value["event_type"];
  const kind = typeof type === "string" ? kindOf(type) : undefined;
  return redactFields(kind?.shape ?? envelopeShape, value, reveal);
}

function redactFields(shape: EventShape, value: JsonObject, reveal: ReadonlySet<FieldClass>): JsonObject {
  const shown: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
  for (const [name, member] of Object.entries(value)) {
    const field = shape[name];
    if (field === undefined || field.class === "secret") shown[name] = member === null ? null : WITHHELD;
    else if (member === null) shown[name] = null;
    else if (field.fields !== null) shown[name] = redactGroup(field.fields, member, reveal);
    else if (reveal.has(field.class)) shown[name] = member;
    else shown[name] = field.class === "person" ? NO_PERSON : WITHHELD;
  }
  return shown;
}

function redactGroup(shape: EventShape, member: JsonValue, reveal: ReadonlySet<FieldClass>): JsonValue {
  if (Array.isArray(member)) return member.map((item) => redactGroup(shape, item as JsonValue, reveal));
  return isJsonObject(member) ? redactFields(shape, member, reveal) : WITHHELD;
}

/** Names the first declared field whose value has another type, or that is missing; undeclared ones are let through. */
function firstMisfit(shape: EventShape, value: JsonObject): string | undefined {
  for (const name in shape) {
    const field = shape[name];
    if (field === undefined) continue;
    const member = value[name];
    if (member === undefined) {
      if (!field.optional) return `${name} is missing`;
    } else if (member !== null && field.fields !== null) {
      const inner = misfitOfGroup(field.fields, member, field.kind === "groups");
      if (inner !== undefined) return `${name}: ${inner}`;
    } else if (!hasType(field, member)) return `${name} has another type`;
  }
  return undefined;
}

function misfitOfGroup(shape: EventShape, member: JsonValue, many: boolean): string | undefined {
  const items = many && Array.isArray(member) ? (member as readonly JsonValue[]) : [member];
  for (const item of items) {
    if (!isJsonObject(item)) return "another type";
    const wrong = firstMisfit(shape, item);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function withholdUndeclared(shape: EventShape, value: object, path: string): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const field = shape[name];
    if (member === undefined) continue;
    if (field === undefined) kept[name] = WITHHELD;
    else if (field.fields !== null && field.kind === "group" && isObject(member)) {
      kept[name] = withholdUndeclared(field.fields, member, `${path}.${name}`);
    } else if (field.fields !== null && field.kind === "groups" && Array.isArray(member)) {
      const inner = field.fields;
      kept[name] = member.map((item: unknown) =>
        isObject(item) ? withholdUndeclared(inner, item, `${path}.${name}`) : WITHHELD,
      );
    } else if (hasType(field, member)) kept[name] = member;
    else throw new Fault(`${path}.${name} has another type than the event table says`);
  }
  return kept;
}

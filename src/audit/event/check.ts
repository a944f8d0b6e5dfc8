import type { EventShape, Field, FieldKind } from "./field.ts";

/**
 * A shape prepared for the quick look at a record: one pass over its members, without asking the shape for each.
 * Records of one type come with the same members in the same order, so what stood at a place last time is tried first.
 */
export interface Check {
  readonly shape: EventShape;
  /** How many fields a whole record has at least. */
  readonly required: number;
  readonly names: string[];
  readonly codes: number[];
  readonly inner: (Check | null)[];
}

const KIND_CODES: Readonly<Record<FieldKind, number>> = { text: 1, integer: 2, flag: 3, texts: 4, group: 5, groups: 6 };
const KIND_BITS = 7;
const NULLABLE_BIT = 8;
const OPTIONAL_BIT = 16;

export function checkOf(shape: EventShape): Check {
  const fields = Object.values(shape);
  return {
    shape,
    required: fields.filter((field) => !field.optional).length,
    names: fields.map(() => ""),
    codes: fields.map(() => 0),
    inner: fields.map(() => null),
  };
}

/** The writer's look: true when every member is declared and has its type. */
export function fits(check: Check, value: object): boolean {
  return look(check, value, true);
}

/** The reader's look: every required field is there, every declared one has its type; others may be. */
export function conforms(check: Check, value: object): boolean {
  return look(check, value, false);
}

/** Whether one value has the type of its field, looked at as the reader does. */
export function hasType(field: Field<unknown>, member: unknown): boolean {
  const inner = field.fields === null ? null : checkOf(field.fields);
  return member === undefined ? false : isOfKind(codeOf(field), inner, member, false);
}

function look(check: Check, value: object, closed: boolean): boolean {
  const { names, codes } = check;
  let place = 0;
  let required = 0;
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member === undefined) continue;
    if (names[place] !== name && !learn(check, place, name)) {
      if (closed) return false;
      continue;
    }
    const code = codes[place] ?? 0;
    // Nearly all members are texts: they are told apart here, the others elsewhere.
    if (typeof member === "string") {
      if ((code & KIND_BITS) !== KIND_CODES.text) return false;
    } else if (!isOfKind(code, check.inner[place] ?? null, member, closed)) return false;
    if ((code & OPTIONAL_BIT) === 0) required++;
    place++;
  }
  return closed || required === check.required;
}

/** Remembers the field that stands at this place now; false for a name that the shape does not declare. */
function learn(check: Check, place: number, name: string): boolean {
  const field = check.shape[name];
  if (field === undefined) return false;
  check.names[place] = name;
  check.codes[place] = codeOf(field);
  check.inner[place] = field.fields === null ? null : innerOf(field.fields);
  return true;
}

const inners = new Map<EventShape, Check>();

function innerOf(shape: EventShape): Check {
  let check = inners.get(shape);
  if (check === undefined) {
    check = checkOf(shape);
    inners.set(shape, check);
  }
  return check;
}

function codeOf(field: Field<unknown>): number {
  return KIND_CODES[field.kind] | (field.nullable ? NULLABLE_BIT : 0) | (field.optional ? OPTIONAL_BIT : 0);
}

function isOfKind(code: number, inner: Check | null, member: unknown, closed: boolean): boolean {
  if (member === null) return (code & NULLABLE_BIT) !== 0;
  switch (code & KIND_BITS) {
    case KIND_CODES.text:
      return typeof member === "string";
    case KIND_CODES.integer:
      return Number.isSafeInteger(member);
    case KIND_CODES.flag:
      return typeof member === "boolean";
    case KIND_CODES.texts:
      return Array.isArray(member) && member.every((item) => typeof item === "string");
    case KIND_CODES.group:
      return inner !== null && isObject(member) && look(inner, member, closed);
    case KIND_CODES.groups:
      return (
        inner !== null && Array.isArray(member) && member.every((item) => isObject(item) && look(inner, item, closed))
      );
  }
  return false;
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import { eventTypes, kindOf } from "../event.ts";
import { checkOf, conforms, fits } from "./check.ts";
import { type EventShape, type Field, group, groups, nullable, open, optional, secret, shapeOf } from "./field.ts";

const shape = shapeOf({
  name: open.text,
  count: open.integer,
  done: optional(open.flag),
  tags: nullable(open.texts),
  token: optional(secret.text),
  place: group({ host: open.text, port: optional(open.integer) }),
  steps: groups({ at: open.text, code: nullable(open.integer) }),
});

/** The rule in its plainest words, to hold the quick look against. */
function judge(of: EventShape, value: unknown, closed: boolean): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  for (const [name, member] of members) {
    const field = of[name];
    if (field === undefined) {
      if (closed) return false;
    } else if (!judgeMember(field, member, closed)) return false;
  }
  const names = new Set(members.map(([name]) => name));
  return closed || Object.entries(of).every(([name, field]) => field.optional || names.has(name));
}

function judgeMember(field: Field<unknown>, member: unknown, closed: boolean): boolean {
  if (member === null) return field.nullable;
  const inner = field.fields ?? {};
  switch (field.kind) {
    case "text":
      return typeof member === "string";
    case "integer":
      return Number.isSafeInteger(member);
    case "flag":
      return typeof member === "boolean";
    case "texts":
      return Array.isArray(member) && member.every((item) => typeof item === "string");
    case "group":
      return judge(inner, member, closed);
    case "groups":
      return Array.isArray(member) && member.every((item) => judge(inner, item, closed));
  }
}

const anything = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.array(fc.oneof(fc.string(), fc.integer())),
  fc.dictionary(fc.constantFrom("host", "port", "at", "code", "other"), fc.oneof(fc.string(), fc.integer())),
  fc.array(fc.dictionary(fc.constantFrom("at", "code", "other"), fc.oneof(fc.string(), fc.integer()))),
);

const likely = fc.record(
  {
    name: fc.string(),
    count: fc.integer(),
    done: fc.boolean(),
    tags: fc.option(fc.array(fc.string())),
    token: fc.string(),
    place: fc.record({ host: fc.string(), port: fc.integer() }, { requiredKeys: ["host"] }),
    steps: fc.array(fc.record({ at: fc.string(), code: fc.option(fc.integer()) })),
  },
  { requiredKeys: [] },
);

/** A likely record with some members replaced, added or moved to the end. */
const records = fc
  .tuple(
    likely,
    fc.array(fc.tuple(fc.constantFrom(...Object.keys(shape), "undeclared", "constructor", "__proto__x"), anything), {
      maxLength: 2,
    }),
  )
  .map(([record, changes]) => {
    const changed: Record<string, unknown> = { ...record };
    for (const [name, value] of changes) {
      if (value === "") delete changed[name];
      else changed[name] = value;
    }
    return changed;
  });

test("the quick look says what the plain rule says, whatever it has seen before", () => {
  const check = checkOf(shape);
  fc.assert(
    fc.property(fc.array(records, { minLength: 1, maxLength: 6 }), (several) => {
      for (const record of several) {
        assert.equal(fits(check, record), judge(shape, record, true), JSON.stringify(record));
        assert.equal(conforms(check, record), judge(shape, record, false), JSON.stringify(record));
      }
    }),
    { numRuns: runsOf(500) },
  );
});

test("the order of the members does not matter", () => {
  const check = checkOf(shape);
  fc.assert(
    fc.property(likely, fc.func(fc.integer()), (record, rank) => {
      const moved = Object.fromEntries(Object.entries(record).sort(([a], [b]) => rank(a) - rank(b)));
      assert.equal(fits(check, moved), fits(check, record));
      assert.equal(conforms(check, moved), conforms(check, record));
    }),
  );
});

test("a name that every object inherits is as undeclared as any other", () => {
  const check = checkOf(shape);
  for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
    assert.equal(fits(check, { name: "x", [name]: "hunter2" }), false, name);
  }
  assert.equal(fits(check, JSON.parse('{"name":"x","__proto__":"hunter2"}') as object), false);
});

test("every declared type of event accepts its own fields and nothing more", () => {
  for (const type of eventTypes) {
    const kind = kindOf(type);
    assert.ok(kind);
    assert.equal(fits(kind.check, { event_type: type, [`${type}_undeclared`]: "x" }), false, type);
    assert.equal(fits(kind.check, { event_type: type }), true, type);
    assert.equal(conforms(kind.check, { event_type: type }), kind.check.required === 1, type);
    assert.equal(fits(kind.check, { event_type: 7 }), false, type);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { readLookup, type TicketService } from "./lookup.ts";

const service: TicketService = {
  system: "tracker",
  action: "tracker.ticket.get",
  referenceInput: "key",
  referenceField: "/key",
  stateField: "/fields/status/name",
  openStates: ["In Progress", "Approved"],
  targetsField: null,
  operationsField: null,
};
const scoped: TicketService = { ...service, targetsField: "/scope/targets", operationsField: "/scope/a~1b~0c" };
const wanted = {
  reference: "OPS-17",
  operation: "acme.role.apply",
  location: "https://api.acme.example/v1/projects/p1/roles",
  arguments: { role: "viewer" },
};
const answer = { key: "OPS-17", fields: { status: { name: "In Progress" } } };
const scope = (targets: JsonValue, operations: JsonValue) => ({
  ...answer,
  scope: { targets, "a/b~c": operations },
});

const code = (trusted: TicketService, body: JsonValue): string => {
  try {
    return readLookup(trusted, body, wanted);
  } catch (error) {
    assert.ok(error instanceof Denied);
    return error.code;
  }
};

test("an open ticket of that reference gives the state that the service says", () => {
  assert.equal(code(service, answer), "In Progress");
});

test("another reference, or none, confirms nothing", () => {
  for (const key of ["OPS-18", "ops-17", "OPS-17 ", ["OPS-17"], 17, null]) {
    assert.equal(code(service, { ...answer, key }), "ticket_unconfirmed");
  }
  assert.equal(code(service, { fields: answer.fields }), "ticket_unconfirmed");
});

test("a state that policy does not count as open refuses, and one that cannot be read confirms nothing", () => {
  for (const name of ["Closed", "in progress", "In Progress "]) {
    assert.equal(code(service, { ...answer, fields: { status: { name } } }), "ticket_not_open");
  }
  const long = "x".repeat(defaults.ticketStateCharacters);
  for (const name of ["", 1, null, ["In Progress"], `${long}x`]) {
    assert.equal(code(service, { ...answer, fields: { status: { name } } }), "ticket_unconfirmed");
  }
  assert.equal(code({ ...service, openStates: [long] }, { ...answer, fields: { status: { name: long } } }), long);
});

test("where the service limits targets and operations, both cover the call exactly", () => {
  const target = `${wanted.location}?role=viewer`;
  assert.equal(code(scoped, scope([target], [wanted.operation])), "In Progress");
  assert.equal(code(scoped, scope(["not a target", wanted.location], [wanted.operation])), "In Progress");
  for (const [targets, operations] of [
    [[`${wanted.location}?role=owner`], [wanted.operation]],
    [["https://api.acme.example/v1/projects/"], [wanted.operation]],
    [["*"], [wanted.operation]],
    [[], [wanted.operation]],
    [[target], []],
    [[target], ["acme.*"]],
  ] as const) {
    assert.equal(code(scoped, scope(targets, operations)), "ticket_scope_mismatch");
  }
  for (const body of [answer, scope(target, [wanted.operation]), scope([1], [wanted.operation]), scope([target], {})]) {
    assert.equal(code(scoped, body), "ticket_unconfirmed");
  }
});

test("what a service lists is as long as it may be", () => {
  const listed = (count: number, characters: number) =>
    code(
      scoped,
      scope([wanted.location, ...Array.from({ length: count - 1 }, () => "x".repeat(characters))], [wanted.operation]),
    );
  const [most, longest] = [defaults.ticketEntries, defaults.ticketEntryCharacters];
  assert.deepEqual(
    [listed(most, longest), listed(most + 1, longest), listed(most, longest + 1)],
    ["In Progress", "ticket_unconfirmed", "ticket_unconfirmed"],
  );
});

test("whatever a service answers gives an open state of exactly this ticket or one of three refusals", () => {
  const refusals = ["ticket_unconfirmed", "ticket_not_open", "ticket_scope_mismatch"];
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (body) => {
      assert.ok(refusals.includes(code(scoped, body as JsonValue)));
    }),
  );
  for (const body of [null, [], "OPS-17", { __proto__: answer }, JSON.parse('{"__proto__":{"key":"OPS-17"}}')]) {
    assert.ok(refusals.includes(code(service, body as JsonValue)));
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { composeContext } from "./compose.ts";
import { readContext } from "./context.ts";
import { needOf, requireExactly } from "./need.ts";
import { coversTarget, readTarget } from "./target.ts";

const LOCATION = "https://api.acme.example/v1/projects/p1/roles";
const NOW = Date.parse("2030-01-01T00:00:00.000Z");
const run = { id: "run_1", deadlineMs: NOW + 600_000 };
const need = { operation: "acme.role.apply", target: `${LOCATION}?role=viewer` };
const assignment = {
  ref: "jira:OPS-17",
  operations: [need.operation],
  targets: [need.target],
  state: null,
  emergency: null,
};

test("what is missing names the operation and the place with every plain argument pinned", () => {
  const args = { role: "viewer", count: 2, force: false, tags: ["a"], body: { size: 3 } };
  assert.deepEqual(needOf("acme.role.apply", { location: LOCATION, arguments: args }), {
    operation: "acme.role.apply",
    target: `${LOCATION}?count=2&force=false&role=viewer`,
  });
});

test("an SSH call is named by user, host and port, with its arguments", () => {
  const call = { location: "ssh://gw@app-1.acme.example:22", arguments: { worker: "web-3" } };
  assert.equal(needOf("ops.worker.restart", call)?.target, "ssh://gw@app-1.acme.example:22?worker=web-3");
});

test("an argument that does not fit a target is left to the card's digest, the others stay pinned", () => {
  const found = needOf("acme.a", { location: LOCATION, arguments: { a: "1", long: "x".repeat(3_000), z: "2" } });
  assert.equal(found?.target, `${LOCATION}?a=1&z=2`);
  const longest = "x".repeat(defaults.ticketEntryCharacters - `${LOCATION}?a=`.length);
  const pinned = (a: string) => needOf("acme.a", { location: LOCATION, arguments: { a } })?.target;
  assert.deepEqual([pinned(longest), pinned(`${longest}x`)], [`${LOCATION}?a=${longest}`, LOCATION]);
});

test("a place that cannot be a target cannot be assigned", () => {
  assert.equal(needOf("acme.a", { location: "https://api.acme.example/v1/*", arguments: {} }), undefined);
});

test("whatever is called, the need covers that call, is in its one form and fits a context", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string()));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), fc.webPath(), (args, path) => {
      const { origin, pathname } = new URL(`https://api.acme.example/v1${path}`);
      const call = { location: `${origin}${pathname}`, arguments: args as JsonObject };
      const found = needOf("acme.a", call);
      if (found === undefined) return;
      const target = readTarget(found.target);
      assert.equal(target.text, found.target);
      assert.ok(found.target.length <= defaults.ticketEntryCharacters);
      assert.ok(coversTarget(target, call));
    }),
  );
});

test("a context for exactly what is missing is taken, and one for more, less or something else is not", () => {
  requireExactly(composeContext(assignment, run, "ada", NOW), need);
  for (const change of [
    { operations: ["acme.role.apply", "acme.role.remove"] },
    { operations: ["acme.role.remove"] },
    { targets: [LOCATION] },
    { targets: [need.target, `${LOCATION}?role=owner`] },
    { targets: [`${LOCATION}?role=owner`] },
    { operations: ["acme.role.apply", "acme.role.remove"], targets: [need.target, `${LOCATION}?role=owner`] },
  ]) {
    assert.throws(
      () => requireExactly(composeContext({ ...assignment, ...change }, run, "ada", NOW), need),
      (error) => error instanceof Denied && error.code === "ticket_scope_mismatch",
    );
  }
});

test("an assignment becomes a context that never outlives the run, and an emergency says so", () => {
  const plain = composeContext(assignment, run, "ada", NOW);
  assert.equal(plain.expires_at, "2030-01-01T00:10:00.000Z");
  assert.deepEqual(readContext(plain as never), plain);
  assert.deepEqual(
    [plain.issued_at, plain.observed_state, plain.issuer, plain.issued_for_run],
    ["2030-01-01T00:00:00.000Z", "assigned by the operator", "ada", "run_1"],
  );
  const short = composeContext({ ...assignment, lastsMs: 1_000, state: "open" }, run, "ada", NOW);
  assert.deepEqual([short.expires_at, short.observed_state], ["2030-01-01T00:00:01.000Z", "open"]);
  const emergency = { reason: "down", normal_ticket_opened_at: null };
  const urgent = composeContext({ ...assignment, ref: null, emergency }, run, "ada", NOW);
  assert.deepEqual(
    [urgent.ticket_ref, urgent.emergency, urgent.observed_state],
    ["emergency:run_1", emergency, "emergency"],
  );
  for (const bad of [{ ref: null }, { emergency: { ...emergency, reason: "" } }]) {
    assert.throws(() => composeContext({ ...assignment, ...bad }, run, "ada", NOW), Denied);
  }
});

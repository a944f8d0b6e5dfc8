import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import { digestPlan, type Effects, groupEffects } from "./effects.ts";
import { decideExecution, type ExecutionFacts, type StoredPlan } from "./lifecycle.ts";
import { isExecutable, type PlanEffect, type Validation } from "./record.ts";

const effect = (resource: string): PlanEffect => ({
  resource,
  revision: null,
  previous: null,
  proposed: 1,
  cause: "request",
});
const revisions = [
  { resource: "projects/p", revision: "r1" },
  { resource: "subjects/s", revision: "r4" },
];
const plan: StoredPlan = {
  ...{ caller: "robot", requestDigest: "d1", equivalence: "e1", readRevisions: revisions, expiresAtMs: 1_000 },
  state: "previewed",
};
const facts: ExecutionFacts = {
  ...{ caller: "robot", nowMs: 999, expectedRevision: "r1", requestDigest: "d1", readRevisions: revisions },
  equivalence: "e1",
};

test("a plan executes when caller, digest, expiry and read revisions all verify", () => {
  assert.deepEqual(decideExecution(plan, facts), { kind: "execute", next: "executed" });
});

test("another caller's plan does not exist, also when it was used or is stale", () => {
  for (const changes of [{}, { state: "executed" as const }, { expiresAtMs: 0 }]) {
    assert.deepEqual(decideExecution({ ...plan, ...changes }, { ...facts, caller: "other" }), { kind: "not_found" });
  }
});

test("a plan is used once", () => {
  assert.deepEqual(decideExecution({ ...plan, state: "executed" }, facts), { kind: "used", state: "executed" });
  assert.deepEqual(decideExecution({ ...plan, state: "rejected" }, facts), { kind: "used", state: "rejected" });
});

test("each input that changed is named in plan_stale", () => {
  const changed = (more: Partial<ExecutionFacts>) => {
    const decision = decideExecution(plan, { ...facts, ...more });
    return decision.kind === "stale" ? [decision.next, ...decision.changed] : decision.kind;
  };
  assert.deepEqual(changed({ nowMs: 1_000 }), ["rejected", "expires_at"]);
  assert.deepEqual(changed({ requestDigest: "d2" }), ["rejected", "request_digest"]);
  assert.deepEqual(changed({ expectedRevision: "r2" }), ["rejected", "expected_revision"]);
  assert.deepEqual(changed({ equivalence: "e2" }), ["rejected", "effects"]);
  assert.deepEqual(changed({ equivalence: null }), ["rejected", "effects"]);
  const moved = [{ resource: "projects/p", revision: "r2" }, revisions[1] ?? { resource: "", revision: "" }];
  assert.deepEqual(changed({ readRevisions: moved }), ["rejected", "projects/p"]);
  assert.deepEqual(changed({ readRevisions: [] }), ["rejected", "projects/p", "subjects/s"]);
  const more = [...revisions, { resource: "quota/q", revision: "r1" }];
  assert.deepEqual(changed({ readRevisions: more }), ["rejected", "quota/q"]);
});

test("nothing executes unless every fact is as it was previewed", () => {
  const text = fc.constantFrom("robot", "r1", "r2", "d1", "d2", "e1", "e2");
  const any: fc.Arbitrary<ExecutionFacts> = fc.record({
    caller: text,
    nowMs: fc.integer({ min: 0, max: 2_000 }),
    expectedRevision: text,
    requestDigest: text,
    readRevisions: fc.array(
      fc.record({ resource: fc.constantFrom("projects/p", "subjects/s"), revision: fc.constantFrom("r1", "r4") }),
      { maxLength: 3 },
    ),
    equivalence: fc.option(text),
  });
  fc.assert(
    fc.property(any, (seen) => {
      const same = (resource: string) => seen.readRevisions.findLast((one) => one.resource === resource)?.revision;
      const whole =
        seen.caller === "robot" &&
        seen.nowMs < 1_000 &&
        seen.expectedRevision === "r1" &&
        seen.requestDigest === "d1" &&
        same("projects/p") === "r1" &&
        same("subjects/s") === "r4" &&
        seen.equivalence === "e1";
      assert.equal(decideExecution(plan, seen).kind === "execute", whole);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test("an error blocks, a warning does not", () => {
  const entry = (severity: Validation["severity"]): Validation => ({
    ...{ severity, code: "c", path: "", message: "m", blocks_execution: severity === "error", repair: null },
  });
  assert.equal(isExecutable([]), true);
  assert.equal(isExecutable([entry("warning")]), true);
  assert.equal(isExecutable([entry("warning"), entry("error")]), false);
});

test("direct and derived effects stand apart; a large set is a total, a sample and a cursor", () => {
  const effects: Effects = {
    direct: [effect("a")],
    derived: Array.from({ length: 25 }, (_, index) => effect(`d${index}`)),
    separate: [],
  };
  const groups = groupEffects(effects, 10, (relation, offset) => `${relation}@${offset}`);
  assert.deepEqual(
    groups.map(({ relation, total, sample, next_cursor }) => [relation, total, sample.length, next_cursor]),
    [
      ["direct", 1, 1, null],
      ["derived", 25, 10, "derived@10"],
    ],
  );
});

test("plans are equivalent exactly when intent, revisions and effects are", () => {
  const effects: Effects = { direct: [effect("a")], derived: [], separate: [] };
  const base = digestPlan("d", revisions, effects);
  assert.equal(
    digestPlan(
      "d",
      revisions.map((one) => ({ ...one })),
      structuredClone(effects),
    ),
    base,
  );
  assert.notEqual(digestPlan("x", revisions, effects), base);
  assert.notEqual(digestPlan("d", revisions.slice(1), effects), base);
  assert.notEqual(digestPlan("d", revisions, { ...effects, derived: [effect("b")] }), base);
  assert.notEqual(digestPlan("d", revisions, { direct: [], derived: [effect("a")], separate: [] }), base);
});

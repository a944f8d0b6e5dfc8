import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { renderShortly } from "./render.ts";
import { isSettled, operationStates, operationTable } from "./state.ts";
import { compareUrgency, needsPerson, type OperationSummary, urgencyOf } from "./summary.ts";
import { operationOf } from "./testing/summary.ts";
import { adviseOn, sayActor, sayCause, sayInRow, sayLeft, sayState, sayTimes } from "./words.ts";

const running = operationOf("op_1");

function stopped(code: string): OperationSummary {
  return { ...running, next_poll_in_ms: null, problem: { code, detail: "why" } };
}

test("every state and every cause has its own words, and only an end is called one", () => {
  assert.equal(new Set(operationStates.map((state) => sayState({ ...running, state }))).size, operationStates.length);
  const causes = new Set(operationTable.map(({ trigger }) => trigger));
  assert.equal(new Set([...causes].map(sayCause)).size, causes.size);
  for (const state of operationStates) {
    if (!isSettled(state)) assert.doesNotMatch(sayState({ ...running, state }), /succeeded|\bfailed\b|^cancelled/);
  }
});

test("an outcome that nobody knows is said in capitals, for a job and for a write", () => {
  assert.match(sayState({ kind: "job", state: "create_unknown" }), /NOT KNOWN whether it was started/);
  assert.match(sayState({ kind: "write", state: "create_unknown" }), /NOT KNOWN whether it happened/);
  assert.match(sayState({ kind: "job", state: "result_timed_out" }), /may still run/);
});

test("an operation needs a person when automation stopped, or never had a way to find out", () => {
  assert.equal(needsPerson(running), false);
  assert.equal(needsPerson(stopped("poll_allowance_exhausted")), true);
  assert.equal(needsPerson({ ...running, state: "create_unknown", next_poll_in_ms: null }), true);
  assert.equal(needsPerson({ ...running, state: "create_pending", next_poll_in_ms: null }), false);
  assert.equal(needsPerson({ ...running, next_poll_in_ms: null, approval_id: "apr_1" }), true);
  assert.equal(needsPerson({ ...stopped("internal_fault"), state: "succeeded" }), false);
});

test("what a person can do is a command, and never to repeat it", () => {
  const commands: Readonly<Record<string, RegExp>> = {
    poll_allowance_exhausted: /^gw operation reconcile op_1$/,
    operation_needs_person: /^gw operation reconcile op_1$/,
    operation_not_reconcilable: /^gw operation settle op_1 --happened YES_OR_NO --reason TEXT$/,
    definition_changed: /^gw pack list$/,
    state_tampered: /^gw audit verify$/,
    credential_disabled: /^gw operation reconcile op_1$/,
  };
  for (const [code, command] of Object.entries(commands)) assert.match(adviseOn(stopped(code))?.command ?? "", command);
  const unreadable = { code: "operation_not_reconcilable", detail: "no read could tell" };
  assert.match(
    adviseOn({ ...stopped("poll_allowance_exhausted"), unreadable })?.command ?? "",
    /^gw operation settle/,
    "a read that would be refused is not advised",
  );
  assert.equal(adviseOn(running), null);
  assert.equal(adviseOn({ ...running, next_poll_in_ms: null, approval_id: "apr_1" })?.command, "gw approve apr_1");
  assert.match(adviseOn({ ...running, state: "create_unknown", next_poll_in_ms: null })?.does ?? "", /not sent again/);
  for (const code of ["operation_needs_person", "definition_changed"]) {
    assert.match(
      adviseOn(stopped(code))?.does ?? "",
      /gw operation settle op_1/,
      "every way ends where a person can end it",
    );
  }
});

test("times are told as what is left of them", () => {
  assert.equal(sayLeft(119_001), "2:00");
  assert.equal(sayLeft(3_723_000), "1:02:03");
  assert.equal(sayLeft(3_600_000), "1:00:00");
  assert.equal(sayLeft(3_599_000), "59:59");
  assert.equal(sayLeft(-1), "0:00");
  assert.deepEqual(sayTimes(running), ["next look in 4 s", "result due in 2:00"]);
  assert.deepEqual(sayTimes({ ...running, next_poll_in_ms: -3, result_in_ms: 0 }), ["looking now", "result OVERDUE"]);
  assert.deepEqual(sayTimes(stopped("x")), ["nobody looks again by itself", "result due in 2:00"]);
  assert.deepEqual(sayTimes({ ...running, next_poll_in_ms: 0, result_in_ms: 1 }), [
    "looking now",
    "result due in 0:01",
  ]);
  assert.deepEqual(sayTimes({ ...running, next_poll_in_ms: 1 })[0], "next look in 1 s");
  for (const state of ["succeeded", "failed", "cancelled"] as const)
    assert.deepEqual(sayTimes({ ...running, state }), []);
  const sending = { ...running, state: "create_pending", next_poll_in_ms: null } as const;
  assert.deepEqual(sayTimes(sending), ["result due in 2:00"]);
  assert.deepEqual(sayTimes({ ...sending, problem: { code: "x", detail: "y" } })[0], "nobody looks again by itself");
  for (const state of ["reconciliation", "result_timed_out"] as const)
    assert.deepEqual(sayTimes({ ...running, state }), ["next look in 4 s"]);
  assert.deepEqual(sayTimes({ ...running, state: "create_unknown" }), ["next look in 4 s"]);
});

test("a row tells progress as a count, and a full one is no success", () => {
  const full = { ...running, progress: { completed: 100, total: 100 } };
  assert.match(sayInRow(full), /at 100\/100 +look 4 s +due 2:00 +running at the provider: acme\.report\.create job-1/);
  const name = "acme.report.create job-1";
  assert.equal(sayInRow(full), `  at 100/100 look 4 s  due 2:00  running at the provider: ${name}`);
  const far = sayInRow({ ...running, next_poll_in_ms: 30_000 });
  assert.match(far, /look 30 s due 2:00/, "two numbers never run into one another");
  const late = { ...running, progress: null, next_poll_in_ms: 0, result_in_ms: 0 };
  assert.equal(sayInRow(late), `             look now  OVERDUE   running at the provider: ${name}`);
  assert.match(renderShortly(full)[0], /running at the provider, progress 100 of 100$/);
});

test("whoever took a step is named as a person knows them", () => {
  assert.equal(sayActor("gateway"), "the gateway");
  assert.equal(sayActor("log 628b500b"), "the gateway");
  assert.equal(sayActor("worker 7"), "the gateway");
  assert.equal(sayActor("812.1308999.545814.1"), "the caller, pid 812");
  assert.equal(sayActor("ada"), "ada");
  assert.equal(sayActor("\u202eada"), "\\u{202e}ada");
});

const anyOne: fc.Arbitrary<OperationSummary> = fc
  .record({
    id: fc.nat(30),
    state: fc.constantFrom(...operationStates),
    stuck: fc.boolean(),
    next: fc.option(fc.integer({ min: -5, max: 5 })),
    due: fc.integer({ min: -5, max: 5 }),
  })
  .map(({ id, state, stuck, next, due }) => ({
    ...running,
    operation_id: `op_${id}`,
    state,
    problem: stuck ? { code: "x", detail: "y" } : null,
    next_poll_in_ms: next,
    result_in_ms: due,
  }));

test("the most urgent first is an order, with those that need a person before all others and ended ones last", () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyOne, { selector: ({ operation_id }) => operation_id }), (all) => {
      const sorted = [...all].sort(compareUrgency);
      assert.deepEqual([...all].reverse().sort(compareUrgency), sorted);
      const ranks = sorted.map(urgencyOf);
      assert.deepEqual(
        ranks,
        [...ranks].sort((a, b) => a - b),
      );
      for (const [at, one] of sorted.entries()) {
        assert.equal(ranks[at] === 0, needsPerson(one));
        assert.equal(ranks[at] === 5, isSettled(one.state));
      }
    }),
    { numRuns: 200 },
  );
});

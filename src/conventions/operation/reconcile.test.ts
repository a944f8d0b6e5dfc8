import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decideReconciliation, knownOf, methodOf, type ReconcileFacts } from "./reconcile.ts";

const facts: ReconcileFacts = {
  method: "status_by_client_id",
  status: 200,
  jobId: "job-1",
  isJob: true,
  showsExpected: false,
  deadlinePassed: true,
};

test("a job that the provider names is accepted, and an answer without one is not", () => {
  assert.deepEqual(decideReconciliation(facts), { kind: "job_named", jobId: "job-1" });
  assert.equal(decideReconciliation({ ...facts, jobId: null }).kind, "inconclusive");
});

test("work without a job is shown by the state that was asked for, and another state proves nothing", () => {
  const write = { ...facts, isJob: false, jobId: null };
  assert.equal(decideReconciliation({ ...write, showsExpected: true }).kind, "effect_shown");
  assert.deepEqual(decideReconciliation(write), { kind: "inconclusive", why: "another_state" });
});

test("absence is proven only under the request's own name and after the creation deadline", () => {
  for (const status of [404, 410]) {
    assert.equal(decideReconciliation({ ...facts, status }).kind, "proven_absent");
    assert.equal(decideReconciliation({ ...facts, status, deadlinePassed: false }).kind, "inconclusive");
    assert.equal(decideReconciliation({ ...facts, status, method: "list_by_reference" }).kind, "inconclusive");
  }
});

test("nothing but a 2xx or a late 404 ever proves anything", () => {
  fc.assert(
    fc.property(
      fc.option(fc.integer({ min: 100, max: 599 })),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      (status, isJob, shows, late) => {
        const decision = decideReconciliation({ ...facts, status, isJob, showsExpected: shows, deadlinePassed: late });
        if (decision.kind === "inconclusive") return;
        assert.ok(status !== null);
        if (decision.kind === "proven_absent") assert.ok(late && (status === 404 || status === 410));
        else assert.ok(status >= 200 && status < 300);
      },
    ),
  );
});

test("the call's own arguments come before what the gateway knows, and the provider is asked by what it was sent", () => {
  const known = { token: "tok", correlationId: "call_1", correlated: true, input: {} };
  assert.equal(knownOf(known)["client_operation_id"], "call_1");
  assert.equal(knownOf({ ...known, correlated: false })["client_operation_id"], "tok");
  assert.equal(knownOf({ ...known, correlated: false, token: null })["client_operation_id"], undefined);
  assert.equal(knownOf({ ...known, input: { operation_id: "mine" } })["operation_id"], "mine");
  assert.equal(knownOf(known)["operation_id"], undefined, "our own name for it was never sent");
  assert.deepEqual(knownOf({ ...known, correlated: false, token: null }), {}, "and neither was any other");
  assert.equal(methodOf(["client_operation_id"]), "status_by_client_id");
  assert.equal(methodOf(["id", "name"]), "list_by_reference");
});

test("repeated under its own token, a receipt is the proof, and a promise or a refusal is none", () => {
  const repeated = { ...facts, method: "token_retry", isJob: false, jobId: null } as const;
  for (const status of [200, 201, 299])
    assert.equal(decideReconciliation({ ...repeated, status }).kind, "effect_shown");
  for (const status of [199, 202, 300, 404, 409, 500])
    assert.deepEqual(decideReconciliation({ ...repeated, status }), { kind: "inconclusive", why: `status_${status}` });
});

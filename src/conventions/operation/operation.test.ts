import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pollDelayMs, standardSchedule } from "./poll.ts";
import { mayLease } from "./record.ts";
import { isSettled, type OperationState, type OperationTrigger, operationStates, operationTable } from "./state.ts";
import { decideToken, type StoredToken } from "./token.ts";
import { type OperationNow, stepOperation } from "./transition.ts";

const at = "2026-01-01T00:00:00.000Z";
const job = "job_1";

/** One good trigger of each kind. */
const triggers = {
  job_named: { kind: "job_named", remoteJobId: job },
  no_clear_answer: { kind: "no_clear_answer", observation: "timeout" },
  creation_rejected: { kind: "creation_rejected", proof: "status 422" },
  reconciliation_started: { kind: "reconciliation_started", method: "status_by_client_id" },
  reconciliation_inconclusive: { kind: "reconciliation_inconclusive", observation: "timeout" },
  effect_shown: { kind: "effect_shown", receipt: "sha256:00", source: "acme.thing.get" },
  observation_started: { kind: "observation_started", leaseOwner: "worker", leaseExpiresAtMs: 2, nowMs: 1 },
  remote_succeeded: { kind: "remote_succeeded", remoteJobId: job, remoteState: "succeeded" },
  remote_failed: { kind: "remote_failed", remoteJobId: job, remoteState: "failed" },
  remote_cancelled: { kind: "remote_cancelled", remoteJobId: job, remoteState: "cancelled" },
  result_fetched: { kind: "result_fetched", remoteJobId: job, resultDigest: "sha256:00" },
  cancel_decided: { kind: "cancel_decided", actor: "ada", reason: "wrong range", expectedEffect: "no report" },
  cancel_sent: { kind: "cancel_sent", attemptId: "att_1" },
  result_deadline_passed: { kind: "result_deadline_passed", deadlineMs: 1, nowMs: 1 },
  resume_sent: { kind: "resume_sent", documented: true, attemptId: "att_2" },
} as const satisfies { readonly [Kind in OperationTrigger["kind"]]?: Extract<OperationTrigger, { kind: Kind }> };
type Kind = keyof typeof triggers;
const kinds = Object.keys(triggers) as Kind[];

/** The specification's table and the choices of the design, written down a second time and in another form. */
const specified: Readonly<Record<OperationState, Partial<Record<Kind, OperationState>>>> = {
  create_pending: { job_named: "accepted", no_clear_answer: "create_unknown", creation_rejected: "failed" },
  create_unknown: { reconciliation_started: "reconciliation" },
  reconciliation: {
    job_named: "accepted",
    creation_rejected: "failed",
    reconciliation_inconclusive: "create_unknown",
    effect_shown: "succeeded",
  },
  accepted: { observation_started: "observing", cancel_decided: "cancel_requested", remote_failed: "failed" },
  observing: {
    remote_succeeded: "result_collecting",
    cancel_decided: "cancel_requested",
    remote_failed: "failed",
    remote_cancelled: "cancelled",
    result_deadline_passed: "result_timed_out",
  },
  result_collecting: { result_fetched: "succeeded" },
  cancel_requested: {
    cancel_sent: "cancelling",
    remote_cancelled: "cancelled",
    remote_succeeded: "result_collecting",
    remote_failed: "failed",
  },
  cancelling: { remote_cancelled: "cancelled", remote_succeeded: "result_collecting", remote_failed: "failed" },
  result_timed_out: { remote_succeeded: "result_collecting", remote_failed: "failed", remote_cancelled: "cancelled" },
  failed: { resume_sent: "observing" },
  succeeded: {},
  cancelled: {},
};

test("every row of the specification is in the table and leads where it says, and a pair has one row", () => {
  for (const state of Object.keys(specified) as OperationState[]) {
    for (const kind of Object.keys(specified[state]) as Kind[]) {
      const known = ["create_pending", "create_unknown", "reconciliation"].includes(state) ? null : job;
      const step = stepOperation({ state, remoteJobId: known }, triggers[kind], at, "gateway");
      assert.equal(step.kind === "moved" ? step.to : step.kind, specified[state][kind], `${state} ${kind}`);
    }
  }
  const pairs = operationTable.map(({ from, trigger }) => `${from} ${trigger}`);
  assert.equal(new Set(pairs).size, pairs.length);
  assert.deepEqual([...operationStates].sort(), Object.keys(specified).sort());
});

test("a pair that is not in the table changes nothing", () => {
  for (const state of operationStates) {
    for (const kind of kinds) {
      if (operationTable.some((row) => row.from === state && row.trigger === kind)) continue;
      const step = stepOperation({ state, remoteJobId: job }, triggers[kind], at, "gateway");
      assert.deepEqual(step, { kind: "refused", why: "not_in_table" }, `${state} ${kind}`);
    }
  }
});

test("what succeeded or was cancelled is final, and a deadline or a sent cancellation ends nothing", () => {
  for (const { from, trigger, to } of operationTable) {
    assert.ok(from !== "succeeded" && from !== "cancelled", `${from} ${trigger}`);
    if (to === "cancelled") assert.equal(trigger, "remote_cancelled");
    if (trigger === "cancel_sent" || trigger === "result_deadline_passed") assert.ok(!isSettled(to));
  }
});

test("a transition without evidence is refused", () => {
  const without: readonly (readonly [OperationNow, OperationTrigger])[] = [
    [
      { state: "create_pending", remoteJobId: null },
      { ...triggers.job_named, remoteJobId: "" },
    ],
    [
      { state: "create_pending", remoteJobId: null },
      { ...triggers.no_clear_answer, observation: "" },
    ],
    [
      { state: "create_pending", remoteJobId: null },
      { ...triggers.creation_rejected, proof: "" },
    ],
    [
      { state: "reconciliation", remoteJobId: null },
      { ...triggers.reconciliation_inconclusive, observation: "" },
    ],
    [
      { state: "accepted", remoteJobId: job },
      { ...triggers.observation_started, leaseOwner: "" },
    ],
    [
      { state: "accepted", remoteJobId: job },
      { ...triggers.observation_started, leaseExpiresAtMs: 1 },
    ],
    [
      { state: "observing", remoteJobId: job },
      { ...triggers.remote_succeeded, remoteState: "" },
    ],
    [
      { state: "observing", remoteJobId: job },
      { ...triggers.remote_succeeded, remoteJobId: "" },
    ],
    [
      { state: "result_collecting", remoteJobId: job },
      { ...triggers.result_fetched, resultDigest: "" },
    ],
    [
      { state: "observing", remoteJobId: job },
      { ...triggers.cancel_decided, reason: "" },
    ],
    [
      { state: "observing", remoteJobId: job },
      { ...triggers.cancel_decided, actor: "" },
    ],
    [
      { state: "observing", remoteJobId: job },
      { ...triggers.cancel_decided, expectedEffect: "" },
    ],
    [
      { state: "cancel_requested", remoteJobId: job },
      { ...triggers.cancel_sent, attemptId: "" },
    ],
    [
      { state: "observing", remoteJobId: job },
      { ...triggers.result_deadline_passed, nowMs: 0 },
    ],
    [
      { state: "reconciliation", remoteJobId: null },
      { ...triggers.effect_shown, receipt: "" },
    ],
    [{ state: "reconciliation", remoteJobId: job }, triggers.effect_shown],
  ];
  for (const [now, trigger] of without) {
    assert.deepEqual(stepOperation(now, trigger, at, "gateway"), { kind: "refused", why: "no_evidence" }, trigger.kind);
  }
  const now: OperationNow = { state: "create_pending", remoteJobId: null };
  assert.equal(stepOperation(now, triggers.job_named, at, "").kind, "refused");
  assert.equal(stepOperation(now, triggers.job_named, "", "gateway").kind, "refused");
});

test("failed work is resumed only where the provider documents it", () => {
  const trigger = { ...triggers.resume_sent, documented: false };
  const step = stepOperation({ state: "failed", remoteJobId: job }, trigger, at, "gateway");
  assert.deepEqual(step, { kind: "refused", why: "resume_not_documented" });
});

test("another job id under a known token is a violation of the contract in every state", () => {
  for (const state of operationStates) {
    const step = stepOperation(
      { state, remoteJobId: job },
      { ...triggers.job_named, remoteJobId: "job_2" },
      at,
      "gateway",
    );
    assert.deepEqual(step, { kind: "contract_violation", known: job, named: "job_2" });
  }
});

test("over any sequence of events: no end without a remote report, history is a chain, the job id never changes", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...kinds), { maxLength: 40 }), (events) => {
      let now: OperationNow = { state: "create_pending", remoteJobId: null };
      let reported = false;
      for (const kind of events) {
        const step = stepOperation(now, triggers[kind], at, "gateway");
        if (step.kind !== "moved") continue;
        assert.deepEqual([step.entry.from, step.entry.to, step.entry.cause], [now.state, step.to, kind]);
        if (kind === "remote_succeeded" || kind === "remote_cancelled") reported = true;
        if (step.to === "cancelled") assert.equal(kind, "remote_cancelled");
        if (step.to === "succeeded" && kind === "effect_shown") assert.equal(now.remoteJobId, null);
        else if (step.to === "succeeded") assert.ok(reported && kind === "result_fetched");
        if (now.remoteJobId !== null) assert.equal(step.remoteJobId, now.remoteJobId);
        now = { state: step.to, remoteJobId: step.remoteJobId };
      }
      if (now.state === "cancelled") assert.equal(now.remoteJobId, job);
    }),
    { numRuns: 2_000 },
  );
});

test("a lease is one owner's until it runs out in boot time, and ends with its boot", () => {
  const lease = { owner: "one", expires_at: at, expires_boot_ms: 1_000, boot_id: "boot", term: 1 };
  const now = (bootMs: number, bootId = "boot") => ({ bootMs, bootId });
  assert.equal(mayLease(null, "two", now(0)), true);
  assert.equal(mayLease(lease, "one", now(999)), true);
  assert.equal(mayLease(lease, "two", now(999)), false);
  assert.equal(mayLease(lease, "two", now(1_000)), true);
  assert.equal(mayLease(lease, "two", now(1, "another boot")), true);
});

test("polls wait 2, 4, 8 … 60 seconds, within a fifth, and never less than Retry-After", () => {
  const middle = [0, 1, 2, 3, 4, 5, 100].map((checks) => pollDelayMs(standardSchedule, checks, null, 0.5));
  assert.deepEqual(middle, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  fc.assert(
    fc.property(
      fc.nat(50),
      fc.option(fc.nat(200_000)),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (checks, after, drawn) => {
        const plain = Math.min(60_000, 2_000 * 2 ** checks);
        const delay = pollDelayMs(standardSchedule, checks, after, drawn);
        assert.ok(delay >= (after ?? 0) && delay >= plain * 0.8 - 1);
        assert.ok(delay <= Math.max(plain * 1.2 + 1, after ?? 0));
      },
    ),
  );
});

test("the same payload repeats its result, another is refused, one in flight waits, one past retention is refused", () => {
  const settled: StoredToken = { kind: "settled", payloadDigest: "a", settledAtMs: 100 };
  assert.equal(decideToken(undefined, "a", 0, 10).kind, "fresh");
  assert.equal(decideToken(settled, "a", 110, 10).kind, "replay");
  assert.equal(decideToken(settled, "b", 110, 10).kind, "other_payload");
  assert.equal(decideToken(settled, "a", 111, 10).kind, "retired");
  assert.equal(decideToken(settled, "b", 111, 10).kind, "other_payload");
  assert.equal(decideToken({ kind: "in_flight", payloadDigest: "a" }, "a", 0, 10).kind, "in_flight");
  assert.equal(decideToken({ kind: "in_flight", payloadDigest: "a" }, "b", 0, 10).kind, "other_payload");
});

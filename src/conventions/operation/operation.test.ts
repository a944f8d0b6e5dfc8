import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
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
  person_says_happened: { kind: "person_says_happened", operator: "ada", reason: "seen in the list" },
  person_says_not: { kind: "person_says_not", operator: "ada", reason: "not in the list" },
} as const satisfies { readonly [Kind in OperationTrigger["kind"]]?: Extract<OperationTrigger, { kind: Kind }> };
type Kind = keyof typeof triggers;
const kinds = Object.keys(triggers) as Kind[];

/** Wherever nothing is on its way, a person may say what became of it. */
const said = { person_says_happened: "succeeded", person_says_not: "failed" } as const;

/** The specification's table and the choices of the design, written down a second time and in another form. */
const specified: Readonly<Record<OperationState, Partial<Record<Kind, OperationState>>>> = {
  create_pending: { job_named: "accepted", no_clear_answer: "create_unknown", creation_rejected: "failed" },
  create_unknown: { reconciliation_started: "reconciliation", ...said },
  reconciliation: {
    job_named: "accepted",
    creation_rejected: "failed",
    reconciliation_inconclusive: "create_unknown",
    effect_shown: "succeeded",
  },
  accepted: {
    observation_started: "observing",
    cancel_decided: "cancel_requested",
    remote_failed: "failed",
    result_deadline_passed: "result_timed_out",
    ...said,
  },
  observing: {
    remote_succeeded: "result_collecting",
    cancel_decided: "cancel_requested",
    remote_failed: "failed",
    remote_cancelled: "cancelled",
    result_deadline_passed: "result_timed_out",
    ...said,
  },
  result_collecting: { result_fetched: "succeeded", ...said },
  cancel_requested: {
    ...said,
    cancel_sent: "cancelling",
    remote_cancelled: "cancelled",
    remote_succeeded: "result_collecting",
    remote_failed: "failed",
  },
  cancelling: {
    ...said,
    remote_cancelled: "cancelled",
    remote_succeeded: "result_collecting",
    remote_failed: "failed",
  },
  result_timed_out: {
    ...said,
    remote_succeeded: "result_collecting",
    remote_failed: "failed",
    remote_cancelled: "cancelled",
  },
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

/** Every way to take a trigger's evidence away: one member of it at a time. */
function withoutEvidence(kind: Kind): readonly OperationTrigger[] {
  const trigger = triggers[kind];
  const spoilt: Record<string, unknown>[] = Object.entries(trigger)
    .filter(([name, value]) => name !== "kind" && typeof value === "string")
    .map(([name]) => ({ ...trigger, [name]: "" }));
  if (kind === "observation_started") spoilt.push({ ...trigger, leaseExpiresAtMs: triggers[kind].nowMs });
  if (kind === "result_deadline_passed") spoilt.push({ ...trigger, nowMs: triggers[kind].deadlineMs - 1 });
  if (kind === "resume_sent") spoilt.push({ ...trigger, documented: false });
  return spoilt as unknown as readonly OperationTrigger[];
}

const EARLY: readonly OperationState[] = ["create_pending", "create_unknown", "reconciliation"];

test("any transition without evidence is refused: every row of the table, every member of its evidence", () => {
  let tried = 0;
  for (const state of Object.keys(specified) as OperationState[]) {
    for (const kind of Object.keys(specified[state]) as Kind[]) {
      const now: OperationNow = { state, remoteJobId: EARLY.includes(state) ? null : job };
      const spoilt = withoutEvidence(kind);
      assert.ok(spoilt.length > 0, `${kind} carries no evidence at all`);
      for (const trigger of spoilt) {
        assert.equal(stepOperation(now, trigger, at, "gateway").kind, "refused", JSON.stringify(trigger));
        tried++;
      }
      assert.equal(stepOperation(now, triggers[kind], "", "gateway").kind, "refused", `${kind} without a time`);
      assert.equal(stepOperation(now, triggers[kind], at, "").kind, "refused", `${kind} without an actor`);
    }
  }
  assert.ok(tried >= operationTable.length);
  const named: OperationNow = { state: "reconciliation", remoteJobId: job };
  assert.equal(stepOperation(named, triggers.effect_shown, at, "gateway").kind, "refused", "what named a job is one");
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

test("over any sequence of events: no end without a remote report or a person's word, history is a chain, the job id never changes", () => {
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
        else if (step.to === "succeeded" && kind !== "person_says_happened")
          assert.ok(reported && kind === "result_fetched");
        if (now.remoteJobId !== null) assert.equal(step.remoteJobId, now.remoteJobId);
        now = { state: step.to, remoteJobId: step.remoteJobId };
      }
      if (now.state === "cancelled") assert.equal(now.remoteJobId, job);
    }),
    { numRuns: runsOf(2_000) },
  );
});

/**
 * A small model of the table, written from the specification alone: it knows which evidence an event was made without,
 * and never looks at how the table or its evidence is checked.
 */
interface Event {
  readonly trigger: OperationTrigger;
  /** Nothing of it is missing. */
  readonly whole: boolean;
  /** The job that it names; null where it names none. */
  readonly names: string | null;
}

const anyEvent: fc.Arbitrary<Event> = fc
  .record({ kind: fc.constantFrom(...kinds), spoil: fc.nat(20), other: fc.nat(9).map((drawn) => drawn === 0) })
  .map(({ kind, spoil, other }): Event => {
    const spoilt = withoutEvidence(kind);
    const missing = spoilt[spoil];
    const base = missing ?? triggers[kind];
    const trigger =
      other && "remoteJobId" in base && base.remoteJobId !== "" ? { ...base, remoteJobId: "job_2" } : base;
    const names = "remoteJobId" in trigger && trigger.remoteJobId !== "" ? trigger.remoteJobId : null;
    return { trigger, whole: missing === undefined, names };
  });

const aboutKnown: readonly Kind[] = ["remote_succeeded", "remote_failed", "remote_cancelled", "result_fetched"];

function model(now: OperationNow, { trigger, whole, names }: Event): OperationNow {
  if (!whole) return now;
  if (names !== null && now.remoteJobId !== null && names !== now.remoteJobId) return now;
  if (aboutKnown.includes(trigger.kind) && names !== now.remoteJobId) return now;
  if (trigger.kind === "effect_shown" && now.remoteJobId !== null) return now;
  const to = specified[now.state][trigger.kind];
  return to === undefined ? now : { state: to, remoteJobId: names ?? now.remoteJobId };
}

test("over any sequence of events, with any evidence missing, the table does what the model of the specification does", () => {
  const reached = new Set<OperationState>();
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
      let now: OperationNow = { state: "create_pending", remoteJobId: null };
      for (const event of events) {
        const expected = model(now, event);
        const step = stepOperation(now, event.trigger, at, "gateway");
        const next = step.kind === "moved" ? { state: step.to, remoteJobId: step.remoteJobId } : now;
        assert.deepEqual(next, expected, `${now.state} ${JSON.stringify(event)}`);
        if (step.kind === "moved") assert.deepEqual([step.entry.from, step.entry.to], [now.state, step.to]);
        now = next;
        reached.add(now.state);
      }
    }),
    { numRuns: 3_000 },
  );
  assert.deepEqual([...reached].sort(), [...operationStates].sort(), "the sequences reach every state");
});

test("a lease is one owner's until it runs out: in boot time within its boot, once it was seen that long where the boot is another's", () => {
  const lease = { owner: "one", expires_at: at, expires_boot_ms: 1_000, boot_id: "boot", term: 1 };
  const now = (bootMs: number, bootId = "boot", seenMs = 0) => ({ bootMs, bootId, seenMs, lastsMs: 60 });
  assert.equal(mayLease(null, "two", now(0)), true);
  assert.equal(mayLease(lease, "one", now(999)), true);
  assert.equal(mayLease(lease, "two", now(999)), false);
  assert.equal(mayLease(lease, "two", now(1_000)), true);
  assert.equal(mayLease(lease, "two", now(2_000, "another boot", 59)), false, "it may be another host's");
  assert.equal(mayLease(lease, "two", now(1, "another boot", 60)), true);
});

test("polls wait 2, 4, 8 … 60 seconds, within a fifth, or as long as Retry-After says", () => {
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
        if (after !== null) assert.equal(delay, after);
        else assert.ok(delay >= plain * 0.8 - 1 && delay <= plain * 1.2 + 1);
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

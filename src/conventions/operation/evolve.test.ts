import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ApprovalId } from "../../kernel/ids.ts";
import { evolve, type OperationEvidence, type OperationStanding } from "./evolve.ts";
import { findRow, isSettled, type OperationTrigger } from "./state.ts";

const AT = { at: "2026-01-01T00:00:00.000Z", bootMs: 10 };
const LEASE = { owner: "w", expires_at: AT.at, expires_boot_ms: 20, boot_id: "b", term: 2 };

function fresh(): OperationStanding {
  return {
    ...{ state: "create_pending", remoteJobId: null, remoteState: null, progress: null, attemptId: null },
    ...{ createDeadline: AT, resultDeadline: AT, lease: null, nextPoll: null, checks: 0, faults: 0 },
    ...{ repeats: 0, held: 0, heldOn: "" },
    ...{ hinted: { allowed: 3, reads: 0, underWay: false }, custodian: false, cancel: null, resumes: [] },
    ...{ resuming: false, asking: null, problem: null, resultDigest: null, result: null, history: [] },
  };
}

function after(...all: readonly OperationEvidence[]): OperationStanding {
  return all.reduce<OperationStanding>((operation, evidence) => evolve(operation, evidence).operation, fresh());
}

function trigger(of: OperationTrigger): OperationEvidence {
  return { kind: "trigger", trigger: of, at: AT.at, actor: "caller" };
}

const named = (remoteJobId: string) => trigger({ kind: "job_named", remoteJobId });

test("a step of the table is told, and one that the table does not have changes and tells nothing", () => {
  const moved = evolve(fresh(), named("j1"));
  assert.deepEqual([moved.operation.state, moved.effects.map(({ entry }) => entry.to)], ["accepted", ["accepted"]]);
  const refused = evolve(moved.operation, trigger({ kind: "cancel_sent", attemptId: "a" }));
  assert.deepEqual(refused, { operation: moved.operation, effects: [] });
});

test("reads are counted from the job that was found, whatever was read before it", () => {
  const nothing = { kind: "nothing_learned" } as const;
  const { checks, faults } = after({ kind: "still_running" }, nothing, { kind: "job_found" });
  assert.deepEqual([checks, faults], [0, 0]);
});

test("a provider that names another job stops automation, and both names are kept", () => {
  const { state, remoteJobId, problem, nextPoll } = after(named("j1"), { kind: "look_again", at: AT }, named("j2"));
  assert.deepEqual([state, remoteJobId, nextPoll, problem?.code], ["accepted", "j1", null, "operation_needs_person"]);
  assert.match(problem?.detail ?? "", /j2.*j1/);
});

test("reads that said something and reads that said nothing are counted apart, those beside the schedule not at all", () => {
  const said = { kind: "report_read", remoteState: "running", progress: null } as const;
  const { checks, faults, remoteState } = after(
    { ...said, beside: false },
    { ...said, beside: true, remoteState: "late" },
    { kind: "nothing_learned" },
  );
  assert.deepEqual([checks, faults, remoteState], [1, 1, "late"]);
});

test("who wanted a cancellation first stays on record", () => {
  const cancel = { actor: "one", reason: "r", expectedEffect: "e", at: AT.at };
  const { cancel: kept } = after(
    { kind: "cancel_wanted", cancel },
    { kind: "cancel_wanted", cancel: { ...cancel, actor: "two" } },
  );
  assert.equal(kept?.actor, "one");
});

test("a resume begins with allowances of its own, and not before a person has looked at what only a person can", () => {
  const reopened = { kind: "reopened", resultDeadline: AT, firstRead: AT } as const;
  const spent: OperationEvidence = { kind: "nothing_learned" };
  const stopped = (code: "poll_allowance_exhausted" | "operation_needs_person"): OperationEvidence => {
    return { kind: "automation_stopped", code, detail: "d" };
  };
  const free = after(spent, stopped("poll_allowance_exhausted"), reopened);
  assert.deepEqual([free.faults, free.problem, free.nextPoll], [0, null, AT]);
  const held = after(spent, stopped("operation_needs_person"), reopened);
  assert.deepEqual([held.faults, held.problem?.code, held.nextPoll], [0, "operation_needs_person", null]);
});

test("what another process stored is the truth, under the lease that was taken; the result stays in this one's memory", () => {
  const mine = after({ kind: "result_kept", digest: "d", result: 7 }, { kind: "nothing_learned" });
  const theirs = after(named("j1"));
  const { operation } = evolve(mine, { kind: "stored_by_another", theirs, lease: LEASE });
  assert.deepEqual(operation, { ...theirs, lease: LEASE, result: 7 });
});

test("whatever is learned in whatever order, only the table moves the state, and the history keeps every move", () => {
  const evidence = fc.oneof(
    fc.constantFrom("j1", "j2").map(named),
    fc.constantFrom<OperationEvidence>(
      trigger({ kind: "no_clear_answer", observation: "o" }),
      trigger({ kind: "reconciliation_started", method: "token_retry" }),
      trigger({ kind: "reconciliation_inconclusive", observation: "o" }),
      trigger({ kind: "remote_failed", remoteJobId: "j1", remoteState: "failed" }),
      trigger({ kind: "resume_sent", documented: true, attemptId: "a" }),
      trigger({ kind: "person_says_happened", operator: "o", reason: "r" }),
      { kind: "look_again", at: AT },
      { kind: "automation_stopped", code: "operation_needs_person", detail: "d" },
      { kind: "taken_up", lookAgain: AT },
      { kind: "reopened", resultDeadline: AT, firstRead: AT },
      { kind: "person_asked", approvalId: "apr_1" as ApprovalId },
      { kind: "session_over" },
      { kind: "hint_read_began", underWay: true },
    ),
  );
  fc.assert(
    fc.property(fc.array(evidence, { maxLength: 30 }), (all) => {
      let operation = fresh();
      for (const one of all) {
        const before = structuredClone(operation);
        const evolved = evolve(operation, one);
        assert.deepEqual(operation, before, "the operation that was given is left as it was");
        const told = evolved.effects.map(({ entry }) => entry);
        assert.deepEqual(evolved.operation.history, [...operation.history, ...told]);
        if (evolved.operation.state !== operation.state) {
          assert.equal(one.kind, "trigger");
          assert.ok(
            one.kind === "trigger" && findRow(operation.state, one.trigger.kind)?.to === evolved.operation.state,
          );
        }
        if (told.some(({ to }) => isSettled(to))) assert.equal(evolved.operation.nextPoll, null);
        operation = evolved.operation;
      }
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  beginSession,
  mayContinue,
  type SessionState,
  type SessionTrigger,
  sessionTable,
  stepSession,
} from "./session.ts";

const states: readonly SessionState[] = ["none", "requested", "approved", "ended"];
const triggers = [...new Set(sessionTable.map(({ trigger }) => trigger))];

test("a new agent process requests an action: approval is requested", () => {
  assert.deepEqual(stepSession("none", "action_requested"), { kind: "moved", to: "requested" });
});

test("the same process continues: allowed for that run", () => {
  assert.deepEqual(stepSession("approved", "same_process_continues"), { kind: "moved", to: "approved" });
});

test("the process exits, its image is replaced, or the operator revokes: the session ends", () => {
  for (const trigger of ["process_exited", "image_replaced", "operator_revoked"] as const) {
    assert.deepEqual(stepSession("approved", trigger), { kind: "moved", to: "ended" });
  }
});

test("an approval that is denied or runs out leaves no session behind", () => {
  assert.deepEqual(stepSession("requested", "not_approved"), { kind: "moved", to: "none" });
});

test("nothing but an approval leads to approved, and nothing leads out of ended", () => {
  for (const { from, trigger, to } of sessionTable) {
    if (to === "approved" && from !== "approved") assert.deepEqual([from, trigger], ["requested", "operator_approved"]);
    assert.notEqual(from, "ended");
  }
});

test("a pair has at most one row, and every state and trigger is in the table", () => {
  const pairs = sessionTable.map(({ from, trigger }) => `${from} ${trigger}`);
  assert.equal(new Set(pairs).size, pairs.length);
  for (const state of states.slice(0, 3)) assert.ok(sessionTable.some(({ from }) => from === state));
});

test("a session begins approved, and only an approved one goes on", () => {
  assert.equal(beginSession(), "approved");
  assert.deepEqual(
    states.filter((state) => mayContinue({ state })),
    ["approved"],
  );
});

test("whatever happens in whatever order, a session that has ended stays ended", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...triggers), { maxLength: 30 }), (happened) => {
      let state: SessionState = "none";
      let ended = false;
      let approvals = 0;
      for (const trigger of happened) {
        const step = stepSession(state, trigger as SessionTrigger);
        if (step.kind === "refused") continue;
        if (trigger === "operator_approved") approvals++;
        if (step.to === "approved") assert.ok(approvals > 0);
        assert.ok(!ended, "left the end");
        state = step.to;
        ended = state === "ended";
      }
    }),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownApproval } from "./model.ts";
import { endingOf, isOpen, START, step } from "./model.ts";

function approval(id: string, change: Partial<ShownApproval> = {}): ShownApproval {
  return {
    approval_id: id,
    state: "pending",
    expires_in_ms: 60_000,
    card_digest: `sha256:${id}`,
    ...{ decided_by: null, reason: null },
    given: [],
    lines: [],
    evidence: [],
    ...change,
  } as unknown as ShownApproval;
}

const many = Array.from({ length: 500 }, (_, index) => approval(`apr_${index}`));

test("500 cards keep their places whatever happens to one of them", () => {
  let state = step(START, { kind: "waiting", approvals: many }, 0);
  const places = state.rows.map((row) => row.approval.approval_id);
  state = step(state, { kind: "approval", approval: approval("apr_7", { state: "denied" }) }, 10);
  state = step(state, { kind: "approval", approval: approval("apr_new") }, 20);
  assert.deepEqual(
    state.rows.map((row) => row.approval.approval_id),
    [...places, "apr_new"],
    "what is new stands below all others",
  );
  assert.equal(state.rows.filter(isOpen).length, 500);
});

test("a card that is told again unchanged stays steady, and one that changed does not", () => {
  const first = step(START, { kind: "waiting", approvals: [approval("apr_1")] }, 0);
  const again = step(first, { kind: "waiting", approvals: [approval("apr_1", { expires_in_ms: 50_000 })] }, 900);
  assert.equal(again.rows[0], first.rows[0]);
  const changed = step(
    again,
    { kind: "approval", approval: approval("apr_1", { card_digest: "sha256:other" }) },
    1_000,
  );
  assert.equal(changed.rows[0]?.changedMs, 1_000);
});

test("a card that waits no longer is shown as ended in its place", () => {
  const first = step(START, { kind: "waiting", approvals: many.slice(0, 3) }, 0);
  const next = step(first, { kind: "waiting", approvals: many.slice(1, 3) }, 5);
  assert.deepEqual(next.rows.map(isOpen), [false, true, true]);
  const [over] = next.rows;
  assert.equal(over && endingOf(over).word, "over", "how it ended is not made up");
  const reason = "process_exited";
  const told = step(next, { kind: "approval", approval: approval("apr_0", { state: "withdrawn", reason }) }, 9);
  const ending = told.rows[0] && endingOf(told.rows[0]);
  assert.equal(ending?.word, "withdrawn");
  assert.ok(!ending.more.includes(reason), "in words");
});

test("what ended long ago leaves only when something new comes", () => {
  let state = START;
  for (const one of many.slice(0, 60)) {
    state = step(state, { kind: "approval", approval: one }, 0);
    state = step(state, { kind: "approval", approval: { ...one, state: "approved" } }, 1);
  }
  assert.ok(state.rows.length <= 22);
});

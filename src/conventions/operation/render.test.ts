import assert from "node:assert/strict";
import { test } from "node:test";
import { TAKEN_AWAY } from "./record.ts";
import { renderOperation, renderShortly } from "./render.ts";
import type { OperationDetail } from "./summary.ts";
import { operationOf } from "./testing/summary.ts";

const detail = {
  ...operationOf("op_1"),
  call_id: "call_1",
  session_id: "ses_1",
  request_fingerprint: "sha256:aa",
  idempotency_token: "sha256:bb",
  create_deadline: "2026-01-01T00:01:00.000Z",
  result_deadline: "2026-01-01T01:00:00.000Z",
  lease: null,
  next_poll_at: null,
  settled: false,
  checks: 3,
  faults: 2,
  observed_by: "session",
  resumes: [],
  result_digest: null,
  result: null,
  history: [],
} as unknown as OperationDetail;

const lines = (change: Partial<OperationDetail> = {}): string =>
  renderOperation({ ...detail, ...change })
    .map((line) => line.trim().replaceAll(/ {2,}/g, " "))
    .join("\n");

test("an operation tells how it stands, when it is looked at again and by when its result is due", () => {
  assert.match(lines(), /^state running at the provider \(observing\)$/m);
  assert.match(lines(), /^progress 40 of 100, as the provider counts; that is no result$/m);
  assert.match(lines(), /^next look in 4 s\nresult due in 2:00, at 2026-01-01T01:00:00\.000Z$/m);
  assert.match(lines({ next_poll_in_ms: 1 }), /^next look in 1 s$/m);
  assert.match(lines({ next_poll_in_ms: 0 }), /^next look now$/m);
  assert.match(lines({ next_poll_in_ms: null }), /^next look none is due$/m);
  assert.match(lines({ result_in_ms: 1 }), /^result due in 0:01,/m);
  assert.match(lines({ result_in_ms: 0 }), /^result due OVERDUE,/m);
  assert.match(lines(), /^remote id job-1$/m);
  assert.match(lines({ remote_job_id: null }), /^remote id none yet$/m);
  assert.match(lines(), /^reads so far 3 said how it stands, 2 said nothing usable$/m);
  assert.match(lines(), /History, oldest first\nnothing yet: it is being sent$/);
  assert.doesNotMatch(lines(), /NEEDS A PERSON|taken over|cancel asked|resume asked|result digest/);
});

test("what ended has no next look and no due result, and its progress is of the last read", () => {
  const ended = lines({ settled: true, state: "succeeded", result_digest: "sha256:cc" });
  assert.doesNotMatch(ended, /next look|result due/);
  assert.match(ended, /^progress 40 of 100, as the provider counts at the last read$/m);
  assert.match(ended, /^result digest sha256:cc$/m);
  assert.doesNotMatch(lines({ progress: null, remote_state: null }), /progress|provider says/);
});

test("what needs a person says why, what to type and what is last known", () => {
  const stuck = lines({ problem: { code: "poll_allowance_exhausted", detail: "ten reads" }, next_poll_in_ms: null });
  assert.match(stuck, /^last known running at the provider/m);
  assert.match(stuck, /^NEEDS A PERSON ten reads \(poll_allowance_exhausted\)\ntype gw operation reconcile op_1$/m);
  const unknown = lines({ state: "create_unknown", next_poll_in_ms: null });
  assert.match(unknown, /^NEEDS A PERSON nothing tells how it ended \(create_unknown\)$/m);
});

test("an operation that another gateway took over names it, and its end once that is known", () => {
  const lease = { owner: "gateway paris", expires_at: TAKEN_AWAY };
  assert.match(lines({ lease }), /^taken over by paris, which has not said yet how it ended: ask there$/m);
  const step = { at: "2026-01-01T00:30:00.000Z", actor: "gateway", from: "observing", to: "failed" } as const;
  const history = [{ ...step, cause: "remote_failed", remote_job_id: null } as const];
  assert.match(
    lines({ lease, settled: true, state: "failed", history }),
    /^taken over by paris, where it ended failed at 2026-01-01T00:30:00\.000Z$/m,
  );
  assert.doesNotMatch(lines({ lease: { ...lease, expires_at: "2026-01-01T00:00:00.000Z" } }), /taken over/);
});

test("who reads, who asked to cancel or to resume and every step are told with their actor and cause", () => {
  assert.match(lines(), /^read by its session$/m);
  assert.match(lines({ observed_by: "gateway" }), /^read by the gateway itself: its session is over$/m);
  const at = "2026-01-01T00:30:00.000Z";
  const cancel = { actor: "ada", reason: "too late", expected_effect: "none", at };
  assert.match(lines({ cancel }), /^cancel asked by ada: "too late"$/m);
  const resume = { call_id: "c", attempt_id: "a", actor: "ada", reason: "again", at, outcome: "unknown" } as const;
  assert.match(lines({ resumes: [resume] }), /by ada at \S+: "again"; NOT KNOWN whether it was taken up/);
  const step = { at, actor: "gateway", from: "accepted", to: "observing", cause: "observation_started" } as const;
  assert.match(
    lines({ history: [{ ...step, remote_job_id: "job-1" }] }),
    /^2026-01-01T00:30:00\.000Z accepted -> observing: the gateway began to look, remote id job-1, by the gateway$/m,
  );
  assert.match(lines({ history: [{ ...step, remote_job_id: null }] }), /began to look, by the gateway$/m);
});

test("in two lines an operation says its state, its progress where there is one, and what a person can do", () => {
  assert.deepEqual(renderShortly({ ...detail, progress: null }), [
    "  acme.report.create job-1  running at the provider",
    "    next look in 4 s, result due in 2:00, by pid 7 uid 1000 /usr/bin/agent",
  ]);
  const [first, second] = renderShortly({ ...detail, problem: { code: "x", detail: "why" } });
  assert.equal(first, "! acme.report.create job-1  NEEDS A PERSON: why");
  assert.equal(second, "    type: gw operation reconcile op_1  (to read it once more)");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { classifyObservation } from "./classify.ts";
import type { Answered, NeverSent, Silent, TransportObservation } from "./observation.ts";
import { observationRecord } from "./result.ts";
import { decideRetry, type RetryAsk, type RetryClass, retryAfterMs } from "./retry.ts";

function answered(status: number, headers: Record<string, string> = {}): Answered {
  return {
    kind: "answered",
    status,
    headers,
    body: Buffer.alloc(0),
    remoteRequestId: null,
    elapsedMs: 3,
    withheld: null,
  };
}
const silent: Silent = { kind: "silent", reason: "timeout", detail: "no answer in 2 s", elapsedMs: 2_000 };
const refused: NeverSent = { kind: "never_sent", reason: "connect_refused", detail: "", elapsedMs: 1, connected: true };

test("a timeout after dispatch of a write is unknown, never a clean failure", () => {
  assert.equal(classifyObservation(silent, true, "http").kind, "unknown");
});

test("a read without an answer changed nothing", () => {
  assert.equal(classifyObservation(silent, false, "http").kind, "error");
});

test("what provably never left is an error, for reads and writes", () => {
  assert.equal(classifyObservation(refused, true, "http").kind, "error");
  assert.equal(classifyObservation(refused, false, "http").kind, "error");
});

test("202 is not completion", () => {
  assert.equal(classifyObservation(answered(202), true, "http").kind, "accepted");
});

test("a status that decides nothing leaves a write unknown", () => {
  for (const status of [408, 425, 500, 502, 503, 504, 599]) {
    assert.equal(classifyObservation(answered(status), true, "http").kind, "unknown", `${status}`);
    assert.equal(classifyObservation(answered(status), false, "http").kind, "error", `${status}`);
  }
});

test("a redirect that leads nowhere is no proof that a write did not happen", () => {
  for (const status of [100, 199, 300, 303, 304, 307, 399]) {
    assert.equal(classifyObservation(answered(status), true, "http").kind, "unknown", `${status}`);
    assert.equal(classifyObservation(answered(status), false, "http").kind, "error", `${status}`);
  }
});

test("whatever 2xx there is, but 202, is a receipt", () => {
  for (const status of [200, 201, 203, 204, 207, 299])
    assert.equal(classifyObservation(answered(status), true, "http").kind, "success", `${status}`);
});

test("a host's last frame says that it refused, or how the operation ended, and its status is no HTTP status", () => {
  const says = (status: number, headers: Record<string, string> = {}) => {
    const verdict = classifyObservation(answered(status, headers), true, "ssh");
    return [verdict.kind, "reason" in verdict ? verdict.reason : null];
  };
  assert.deepEqual(says(0), ["success", null]);
  assert.deepEqual(says(1), ["error", "exit_1"]);
  assert.deepEqual(says(200), ["error", "exit_200"]);
  assert.deepEqual(says(0, { frame: "refused", code: "already_done" }), ["error", "already_done"]);
  assert.deepEqual(says(0, { frame: "refused" }), ["error", "refused"]);
});

test("an operation that a signal or its time limit ended on a host may have come half the way; a read has not", () => {
  const says = (status: number, headers: Record<string, string>, sideEffect = true) => {
    const verdict = classifyObservation(answered(status, { frame: "finished", ...headers }), sideEffect, "ssh");
    return [verdict.kind, "reason" in verdict ? verdict.reason : null];
  };
  const killed = { signal: "SIGKILL" };
  assert.deepEqual(says(137, killed), ["unknown", "ended_by_SIGKILL"]);
  for (const status of [3, 0]) {
    assert.deepEqual(says(status, { "timed-out": "true" }), ["unknown", "time_limit"]);
    assert.deepEqual(says(status, { "timed-out": "true" }, false), ["error", "time_limit"]);
  }
  assert.deepEqual(says(137, killed, false), ["error", "ended_by_SIGKILL"]);
});

test("a rejection is a confirmed failure of a write", () => {
  for (const status of [400, 401, 403, 404, 409, 412, 422, 429, 499]) {
    assert.equal(classifyObservation(answered(status), true, "http").kind, "error", `${status}`);
  }
});

test("a redirect is left to the redirect rule", () => {
  const verdict = classifyObservation(answered(307, { location: "/x" }), true, "http");
  assert.deepEqual(verdict.kind === "redirect" && verdict.location, "/x");
  for (const status of [300, 399])
    assert.equal(classifyObservation(answered(status, { location: "/x" }), true, "http").kind, "redirect");
  for (const status of [299, 304, 400])
    assert.notEqual(classifyObservation(answered(status, { location: "/x" }), true, "http").kind, "redirect");
});

test("no observation without an answer is ever a success", () => {
  const observation = fc.oneof(fc.constant<TransportObservation>(silent), fc.constant<TransportObservation>(refused));
  fc.assert(
    fc.property(observation, fc.boolean(), (seen, sideEffect) => {
      assert.notEqual(classifyObservation(seen, sideEffect, "http").kind, "success");
    }),
  );
});

const ask: RetryAsk = {
  retryClass: "read",
  attempt: 1,
  observation: answered(503),
  tokenLeftMs: 60_000,
  wallMs: 0,
  timeLeftMs: 60_000,
  spread: 0.5,
  jitter: 0.2,
};

test("reads are tried three times on the listed statuses, with 2 s and then 8 s between", () => {
  assert.deepEqual(decideRetry(ask), { kind: "retry", waitMs: 2_000 });
  assert.deepEqual(decideRetry({ ...ask, attempt: 2 }), { kind: "retry", waitMs: 8_000 });
  assert.deepEqual(decideRetry({ ...ask, attempt: 3 }), { kind: "stop", why: "attempts_used" });
  assert.deepEqual(decideRetry({ ...ask, observation: answered(500) }), { kind: "stop", why: "not_retryable" });
});

test("an idempotent write needs its token and is tried twice", () => {
  const write = { ...ask, retryClass: "idempotent_write" as const };
  assert.equal(decideRetry(write).kind, "retry");
  assert.equal(decideRetry({ ...write, tokenLeftMs: 2_001 }).kind, "retry");
  assert.deepEqual(decideRetry({ ...write, tokenLeftMs: 2_000 }), { kind: "stop", why: "no_token" });
  assert.deepEqual(decideRetry({ ...write, tokenLeftMs: 0 }), { kind: "stop", why: "no_token" });
  assert.deepEqual(decideRetry({ ...write, attempt: 2 }), { kind: "stop", why: "attempts_used" });
  assert.deepEqual(decideRetry({ ...write, observation: answered(502) }), { kind: "stop", why: "not_retryable" });
});

test("a write without a token is sent once, whatever the answer", () => {
  const write = { ...ask, retryClass: "non_idempotent_write" as const };
  for (const observation of [answered(408), answered(429), answered(503), refused])
    assert.equal(decideRetry({ ...write, observation }).kind, "stop");
});

test("what never left is tried again where a connection was tried or a name had no answer, and not where we refused it", () => {
  assert.deepEqual(decideRetry({ ...ask, observation: refused }), { kind: "retry", waitMs: 2_000 });
  const before: NeverSent = { ...refused, connected: false, reason: "name_not_resolved" };
  assert.equal(decideRetry({ ...ask, observation: before }).kind, "retry");
  for (const reason of ["address_refused", "credential_refused", "hub_unreachable", "aborted"] as const)
    assert.equal(decideRetry({ ...ask, observation: { ...before, reason } }).kind, "stop", reason);
});

test("an unknown outcome of a write is never retried", () => {
  const classes: RetryClass[] = ["idempotent_write", "non_idempotent_write"];
  for (const retryClass of classes) {
    assert.equal(decideRetry({ ...ask, retryClass, observation: silent }).kind, "stop");
  }
});

test("a read is sent again when its answer was lost or late, not when it was too large or malformed", () => {
  for (const reason of ["timeout", "connection_lost"] as const) {
    assert.equal(decideRetry({ ...ask, observation: { ...silent, reason } }).kind, "retry", reason);
  }
  for (const reason of ["response_too_large", "response_malformed", "aborted", "helper_lost"] as const) {
    assert.equal(decideRetry({ ...ask, observation: { ...silent, reason } }).kind, "stop", reason);
  }
});

test("the wait follows Retry-After, also where it is shorter than ours, and counts against the run", () => {
  const busy = { ...ask, observation: answered(429, { "retry-after": "30" }) };
  assert.deepEqual(decideRetry(busy), { kind: "retry", waitMs: 30_000 });
  assert.deepEqual(decideRetry({ ...busy, timeLeftMs: 30_000 }), { kind: "stop", why: "would_outlast_run" });
  const soon = { ...ask, observation: answered(429, { "retry-after": "1" }) };
  assert.deepEqual(decideRetry(soon), { kind: "retry", waitMs: 1_000 });
});

const NOON = Date.UTC(2026, 10, 15, 12);
const waitFor = (text: string, date?: string): number | null =>
  retryAfterMs(answered(429, { "retry-after": text, ...(date === undefined ? {} : { date }) }), NOON);

test("Retry-After is a number of seconds or an HTTP date, between one second and a day", () => {
  for (const text of ["", " ", "-1", "1e3", "1.5", "٣", "Sun, 31 Feb 2026 12:00:30 GMT", "2026-11-15T12:00:30Z"]) {
    assert.equal(waitFor(text), null, text);
  }
  for (const text of [
    "Sun, 15 Nov 2026 12:00:30 GMT",
    "Sunday, 15-Nov-26 12:00:30 GMT",
    "Sun Nov 15 12:00:30 2026",
    "30",
  ]) {
    assert.equal(waitFor(text), 30_000, text);
  }
  for (const text of ["Sun, 00 Nov 2026 12:00:30 GMT", "Sun, 31 Nov 2026 12:00:30 GMT", "Sun Nov 31 12:00:30 2026"])
    assert.equal(waitFor(text), null, text);
  // Two digits of a year reach from 1970 to 2069.
  assert.equal(waitFor("Monday, 01-Jan-70 00:00:00 GMT"), 1_000);
  assert.equal(waitFor("Tuesday, 31-Dec-69 23:59:59 GMT"), 86_400_000);
  assert.equal(waitFor("0"), 1_000);
  assert.equal(waitFor("Wed, 21 Oct 2015 07:28:00 GMT"), 1_000);
  assert.equal(waitFor("999999"), 86_400_000);
});

test("a date in Retry-After counts from the answer's own date, so that a clock that is wrong does not matter", () => {
  assert.equal(waitFor("Sun, 15 Nov 2026 15:00:07 GMT", "Sun, 15 Nov 2026 15:00:00 GMT"), 7_000);
  assert.equal(waitFor("Sun, 15 Nov 2026 12:00:09 GMT", "yesterday"), 9_000);
});

test("the jitter stays within its share", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (spread) => {
      const decision = decideRetry({ ...ask, spread });
      assert.ok(decision.kind === "retry" && decision.waitMs >= 1_600 && decision.waitMs <= 2_400);
    }),
  );
});

test("the observation record names kind, reason and time", () => {
  assert.deepEqual(observationRecord(silent), {
    kind: "silent",
    reason: "timeout",
    detail: "no answer in 2 s",
    elapsed_ms: 2_000,
  });
  assert.deepEqual(observationRecord({ ...refused, elapsedMs: 1.4 }), {
    kind: "never_sent",
    reason: "connect_refused",
    detail: "",
    elapsed_ms: 1,
  });
  assert.equal(observationRecord({ ...answered(200), withheld: "credential_echoed" }).reason, "credential_echoed");
  assert.equal(observationRecord(answered(200)).reason, null);
});

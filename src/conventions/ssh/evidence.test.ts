import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { observeSsh, type SshEnding, type SshEvidence, tameDiagnostics } from "./evidence.ts";
import type { FinishedFrame, FrameProgress, FrameViolation, RefusedFrame } from "./frames.ts";

const finished: FinishedFrame = {
  kind: "finished",
  requestId: "call_0123456789",
  exitStatus: 0,
  signal: null,
  timedOut: false,
  truncated: false,
};
const refused: RefusedFrame = { kind: "refused", requestId: null, code: "action_unknown" };
const nothing: SshEvidence = {
  ended: { kind: "exited", status: 255, signal: null },
  bound: false,
  signed: false,
  offence: null,
  payloadLeft: false,
  progress: "none",
  violation: null,
  last: null,
  stdout: Buffer.alloc(0),
  stderr: Buffer.alloc(0),
  truncated: false,
  diagnostics: "",
  elapsedMs: 5,
};

const endings: readonly SshEnding[] = [
  { kind: "exited", status: 0, signal: null },
  { kind: "exited", status: 255, signal: null },
  { kind: "exited", status: null, signal: "SIGKILL" },
  { kind: "deadline" },
  { kind: "aborted" },
  { kind: "flooded" },
  { kind: "cut" },
  { kind: "helper_lost" },
  { kind: "helper_failed", detail: "x" },
];
const anyEvidence: fc.Arbitrary<SshEvidence> = fc.record({
  ended: fc.constantFrom(...endings),
  bound: fc.boolean(),
  signed: fc.boolean(),
  offence: fc.constantFrom(null, "not_bound" as const, "bind_other_host" as const),
  payloadLeft: fc.boolean(),
  progress: fc.constantFrom<FrameProgress>("none", "ready", "refused", "started", "finished"),
  violation: fc.constantFrom<FrameViolation | null>(null, "frame_malformed"),
  last: fc.constantFrom(null, refused, finished),
  stdout: fc.constant(Buffer.alloc(0)),
  stderr: fc.constant(Buffer.alloc(0)),
  truncated: fc.boolean(),
  diagnostics: fc.constantFrom("", "Connection refused", "Permission denied (publickey)."),
  elapsedMs: fc.nat(),
});

test("once the payload left, only a whole last frame is an answer, and everything else is silence", () => {
  fc.assert(
    fc.property(anyEvidence, (evidence) => {
      const seen = observeSsh(evidence);
      if (!evidence.payloadLeft) return assert.equal(seen.kind, "never_sent");
      const whole = evidence.last !== null && evidence.violation === null;
      return assert.equal(seen.kind, whole ? "answered" : "silent");
    }),
  );
});

test("how the client ended never makes an answer or takes one away", () => {
  for (const ended of endings) {
    assert.equal(observeSsh({ ...nothing, ended, payloadLeft: true, last: finished }).kind, "answered");
    assert.equal(observeSsh({ ...nothing, ended, payloadLeft: true }).kind, "silent");
  }
});

test("an answer carries the exit status, or the signal as shells count it", () => {
  const answer = (last: FinishedFrame, more: Partial<SshEvidence> = {}) => {
    const seen = observeSsh({ ...nothing, payloadLeft: true, last, ...more });
    return seen.kind === "answered" ? seen : assert.fail();
  };
  assert.equal(answer({ ...finished, exitStatus: 3 }).status, 3);
  const killed = answer({ ...finished, exitStatus: null, signal: "SIGTERM", timedOut: true, truncated: true });
  assert.equal(killed.status, 143);
  assert.deepEqual(killed.headers, {
    frame: "finished",
    body: "stderr",
    signal: "SIGTERM",
    "timed-out": "true",
    truncated: "true",
  });
  assert.notEqual(answer({ ...finished, exitStatus: null, signal: "SIGWEIRD" }).status, 0);
  const both = { stdout: Buffer.from("out"), stderr: Buffer.from("err") };
  assert.equal(answer({ ...finished, exitStatus: 1 }, both).body.toString(), "out");
  assert.equal(answer({ ...finished, exitStatus: 1 }, { stderr: both.stderr }).body.toString(), "err");
  assert.equal(answer(finished, { stderr: both.stderr }).body.toString(), "");
  const no = observeSsh({ ...nothing, payloadLeft: true, last: refused });
  assert.ok(no.kind === "answered" && no.status === -1 && no.headers["code"] === "action_unknown");
});

const reasons: readonly (readonly [Partial<SshEvidence>, string])[] = [
  [{ diagnostics: "ssh: Could not resolve hostname x: Name or service not known" }, "name_not_resolved"],
  [{ diagnostics: "Received disconnect from 192.0.2.1 port 22:2: Could not resolve hostname x" }, "connect_refused"],
  [{ diagnostics: "ssh: connect to host x port 1: Connection refused" }, "connect_refused"],
  [{ diagnostics: "Connection timed out during banner exchange" }, "connect_timeout"],
  [{ diagnostics: "Host key verification failed." }, "host_key_mismatch"],
  [{ diagnostics: "no matching host key type found" }, "host_key_mismatch"],
  [{ diagnostics: "No user exists for uid 64123" }, "helper_failed"],
  [{ offence: "bind_other_host" }, "host_key_mismatch"],
  [{ offence: "other_user", bound: true }, "credential_refused"],
  [{ bound: true, diagnostics: "Permission denied (publickey)." }, "authentication_refused"],
  [{ bound: true, signed: true, diagnostics: "Permission denied (publickey)." }, "authentication_refused"],
  [{ bound: true, signed: true }, "receiver_not_ready"],
  [{ bound: true, signed: true, violation: "frame_malformed" }, "receiver_not_ready"],
  [{ bound: true, signed: true, last: refused, progress: "refused" }, "receiver_not_ready"],
  [{ bound: true, signed: true, progress: "started", ended: { kind: "cut" } }, "receiver_not_ready"],
  [{ progress: "ready", ended: { kind: "cut" } }, "credential_refused"],
  [{ ended: { kind: "deadline" } }, "deadline"],
  [{ ended: { kind: "aborted" } }, "aborted"],
  [{ ended: { kind: "helper_lost" } }, "helper_failed"],
  [{ offence: "peer_gone", bound: true, ended: { kind: "helper_lost" } }, "helper_failed"],
  [{ offence: "peer_gone", bound: true }, "helper_failed"],
  [{ bound: true, ended: { kind: "exited", status: null, signal: "SIGKILL" } }, "helper_failed"],
  [{ ended: { kind: "helper_failed", detail: "x" } }, "helper_failed"],
];
for (const [more, reason] of reasons) {
  test(`nothing left: ${reason} (${JSON.stringify(more)})`, () => {
    const seen = observeSsh({ ...nothing, ...more });
    assert.ok(seen.kind === "never_sent");
    assert.equal(seen.reason, reason);
    assert.equal(
      seen.connected,
      more.bound === true || (reason !== "name_not_resolved" && more.ended?.kind !== "helper_failed"),
    );
  });
}

test("what the client wrote about a host is one bounded line of visible text", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
      const text = tameDiagnostics(Buffer.from(bytes));
      assert.match(text, /^(?:… )?[\x20-\x7e]*$/);
      assert.ok(text.length <= 402);
    }),
  );
});

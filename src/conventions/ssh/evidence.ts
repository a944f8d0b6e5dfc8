import type { NeverSent, Silent, TransportObservation } from "../outcome/observation.ts";
import type { AgentOffence } from "./agent.ts";
import type { FinishedFrame, FrameProgress, FrameViolation, RefusedFrame } from "./frames.ts";
import { STARTED } from "./request-status.ts";

/**
 * What the gateway itself saw of one connection. The payload is the dividing line: before it left nothing can have
 * happened, after it only a whole last frame says what did. An exit status of the client never decides.
 */
export interface SshEvidence {
  readonly ended: SshEnding;
  /** The pinned host proved its key to our agent. */
  readonly bound: boolean;
  readonly signed: boolean;
  readonly offence: AgentOffence | null;
  readonly payloadLeft: boolean;
  readonly progress: FrameProgress;
  readonly violation: FrameViolation | null;
  readonly last: RefusedFrame | FinishedFrame | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Output was dropped here or on the host. */
  readonly truncated: boolean;
  /** What the client wrote about the connection. It names a reason, it never decides. */
  readonly diagnostics: string;
  readonly elapsedMs: number;
}

export type SshEnding =
  | { readonly kind: "exited"; readonly status: number | null; readonly signal: string | null }
  | { readonly kind: "deadline" }
  | { readonly kind: "aborted" }
  /** Whoever asked for it may not any more: nothing left. */
  | { readonly kind: "called_off"; readonly detail: string }
  | { readonly kind: "flooded" }
  /** We ended it: the last frame was there, or the host broke the grammar. */
  | { readonly kind: "cut" }
  | { readonly kind: "helper_lost" }
  | { readonly kind: "helper_failed"; readonly detail: string };

export function observeSsh(evidence: SshEvidence): TransportObservation {
  const { last, payloadLeft, violation } = evidence;
  if (payloadLeft && violation === null && last !== null) return answerOf(evidence, last);
  return payloadLeft ? silenceOf(evidence) : neverSentOf(evidence);
}

function answerOf(evidence: SshEvidence, last: RefusedFrame | FinishedFrame): TransportObservation {
  const shape = { kind: "answered", remoteRequestId: null, elapsedMs: evidence.elapsedMs, withheld: null } as const;
  if (last.kind === "refused") {
    // No operation ran, so there is no exit status; -1 is none that a process can have.
    return { ...shape, status: -1, headers: { frame: "refused", code: last.code }, body: Buffer.alloc(0) };
  }
  const status = last.exitStatus ?? 128 + signalNumber(last.signal ?? "");
  const useStderr = status !== 0 && evidence.stdout.length === 0;
  const headers: Record<string, string> = { frame: "finished", body: useStderr ? "stderr" : "stdout" };
  if (last.signal !== null) headers["signal"] = last.signal;
  if (last.timedOut) headers["timed-out"] = "true";
  if (evidence.truncated || last.truncated) headers["truncated"] = "true";
  return { ...shape, status, headers, body: useStderr ? evidence.stderr : evidence.stdout };
}

function silenceOf(evidence: SshEvidence): Silent {
  const [reason, detail] = silentReason(evidence);
  const said = evidence.progress === "started" ? { said: STARTED } : {};
  return { kind: "silent", reason, detail, elapsedMs: evidence.elapsedMs, ...said };
}

function silentReason({ ended, violation, progress, diagnostics }: SshEvidence): [Silent["reason"], string] {
  const where = progress === "started" ? "after the operation started" : "after the request left";
  if (violation !== null) return ["response_malformed", `the host broke the frame grammar ${where}: ${violation}`];
  switch (ended.kind) {
    case "deadline":
      return ["timeout", `no last frame came in time ${where}`];
    case "aborted":
      return ["aborted", `the attempt was stopped ${where}`];
    case "called_off":
      return ["aborted", ended.detail];
    case "flooded":
      return ["response_too_large", `the host sent more than may be read ${where}`];
    case "cut":
      return ["response_malformed", `the host claimed what cannot be ${where}`];
    case "helper_lost":
    case "helper_failed":
      return ["helper_lost", `gw-ssh ended without a report ${where}`];
    case "exited":
      return ["connection_lost", `the connection ended ${where} (${describeExit(ended)})${quote(diagnostics)}`];
  }
}

function neverSentOf(evidence: SshEvidence): NeverSent {
  const [reason, detail] = neverSentReason(evidence);
  const connected = evidence.bound || (reason !== "name_not_resolved" && evidence.ended.kind !== "helper_failed");
  return { kind: "never_sent", reason, detail, elapsedMs: evidence.elapsedMs, connected };
}

function neverSentReason(evidence: SshEvidence): [NeverSent["reason"], string] {
  const { ended, offence, diagnostics, violation, last } = evidence;
  if (offence === "bind_other_host" || offence === "bind_forged") return ["host_key_mismatch", `our agent: ${offence}`];
  // Of one that ended while it asked, its end says why.
  if (offence !== null && offence !== "peer_gone") return ["credential_refused", `our agent did not sign: ${offence}`];
  if (violation !== null) return ["receiver_not_ready", `the host spoke before it was ready: ${violation}`];
  if (last?.kind === "refused") return ["receiver_not_ready", `the receiver refused before it was ready: ${last.code}`];
  switch (ended.kind) {
    case "deadline":
      return ["deadline", "the receiver was not ready in time"];
    case "aborted":
      return ["aborted", "the attempt was stopped before the request left"];
    case "called_off":
      return ["aborted", ended.detail];
    case "flooded":
      return ["receiver_not_ready", "the host sent more than may be read before it was ready"];
    case "cut":
      return evidence.signed
        ? ["receiver_not_ready", "the host claimed a start before the request left"]
        : ["credential_refused", "the session was not opened with our signature, so the request was withheld"];
    case "helper_failed":
      return ["helper_failed", ended.detail];
    case "helper_lost":
      return ["helper_failed", "gw-ssh ended without a report before the request left"];
    case "exited":
      return [
        // A client that was killed here says nothing about the host.
        ended.signal !== null || offence !== null ? "helper_failed" : clientReason(evidence),
        `${describeExit(ended)}${quote(diagnostics)}`,
      ];
  }
}

/**
 * Every answer here is a proof that nothing was sent; the client's words only choose which one a person reads. What a host said as
 * it hung up is quoted among them, and chooses nothing.
 */
function clientReason({ bound, signed, diagnostics }: SshEvidence): NeverSent["reason"] {
  if (signed) return diagnostics.includes("Permission denied") ? "authentication_refused" : "receiver_not_ready";
  if (bound) return "authentication_refused";
  if (diagnostics.includes("Received disconnect from")) return "connect_refused";
  const found = clientWords.find(([words]) => words.some((word) => diagnostics.includes(word)));
  return found?.[1] ?? "connect_refused";
}

const clientWords: readonly (readonly [readonly string[], NeverSent["reason"]])[] = [
  [["Could not resolve hostname"], "name_not_resolved"],
  [["Host key verification failed", "HOST IDENTIFICATION HAS CHANGED", "no matching host key"], "host_key_mismatch"],
  [["Permission denied"], "authentication_refused"],
  [["timed out", "Timeout"], "connect_timeout"],
  [["No user exists", "Bad configuration option", "Bad owner"], "helper_failed"],
];

function describeExit(ended: SshEnding & { readonly kind: "exited" }): string {
  return ended.signal === null ? `ssh exit ${ended.status}` : `ssh ended by ${ended.signal}`;
}

/** What a host wrote is among it: nobody shall take it for a sentence of ours. */
function quote(diagnostics: string): string {
  return diagnostics === "" ? "" : `: "${diagnostics.replaceAll('"', "'")}"`;
}

function signalNumber(name: string): number {
  const known = {
    SIGHUP: 1,
    SIGINT: 2,
    SIGQUIT: 3,
    SIGILL: 4,
    SIGTRAP: 5,
    SIGABRT: 6,
    SIGBUS: 7,
    SIGFPE: 8,
    SIGKILL: 9,
  };
  const more = { SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15 };
  return new Map(Object.entries({ ...known, ...more })).get(name) ?? 127;
}

const DIAGNOSTICS_MAX = 400;

/**
 * The client quotes the host in its messages: one bounded line of visible ASCII is all that goes on. The end of it, since a host may
 * greet at any length before the client says what became of the connection.
 */
export function tameDiagnostics(bytes: Buffer): string {
  const text = bytes
    .toString("latin1")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .trim();
  return text.length > DIAGNOSTICS_MAX ? `… ${text.slice(-DIAGNOSTICS_MAX)}` : text;
}

import type { Send } from "../action/send.ts";
import type { Answered, TransportObservation } from "./observation.ts";

/**
 * What an attempt proves about the world. A timeout is an observation about us and proves no failure; a dispatch proves
 * no delivery; an answer proves only what the answering side owns. Success is confirmed by a receipt and a later read.
 */
export type Verdict =
  /** A receipt came back. It is confirmed only by a later read of the state. */
  | { readonly kind: "success"; readonly observation: Answered }
  /** 202 and its like: accepted is not completed. */
  | { readonly kind: "accepted"; readonly observation: Answered }
  /** Proof of rejection: the action did not happen. */
  | { readonly kind: "error"; readonly reason: string; readonly observation: TransportObservation }
  /** The action may have happened. */
  | { readonly kind: "unknown"; readonly reason: string; readonly observation: TransportObservation }
  /** An answer that points elsewhere; the redirect rule decides. */
  | { readonly kind: "redirect"; readonly location: string; readonly observation: Answered };

/** Statuses between the rejections that a server, or something in front of it, sends without having decided about the request. */
const UNDECIDED = new Set([408, 425]);

export function classifyObservation(
  observation: TransportObservation,
  sideEffect: boolean,
  channel: Send["kind"],
): Verdict {
  switch (observation.kind) {
    case "never_sent":
      return { kind: "error", reason: observation.reason, observation };
    case "silent":
      return sideEffect
        ? { kind: "unknown", reason: observation.reason, observation }
        : { kind: "error", reason: observation.reason, observation };
    case "answered":
      return classifyBy(channel, observation, sideEffect);
  }
}

function classifyBy(channel: Send["kind"], observation: Answered, sideEffect: boolean): Verdict {
  switch (channel) {
    case "http":
      return classifyAnswer(observation, sideEffect);
    case "ssh":
      return classifyReport(observation, sideEffect);
  }
}

/**
 * A receiver's last frame: it refused before it began, or it says how the operation ended. One that a signal or its time limit ended
 * could not say itself what it had done until then.
 */
function classifyReport(observation: Answered, sideEffect: boolean): Verdict {
  const { status, headers } = observation;
  if (headers["frame"] === "refused") return { kind: "error", reason: headers["code"] ?? "refused", observation };
  const { signal } = headers;
  const timedOut = headers["timed-out"] === "true";
  // Also with status 0: so ends whoever stops in good order when told to.
  if (status === 0 && !timedOut) return { kind: "success", observation };
  const brokenOff = signal !== undefined || timedOut;
  const reason = signal !== undefined ? `ended_by_${signal}` : timedOut ? "time_limit" : `exit_${status}`;
  return { kind: sideEffect && brokenOff ? "unknown" : "error", reason, observation };
}

function classifyAnswer(observation: Answered, sideEffect: boolean): Verdict {
  const { status } = observation;
  if (status === 202) return { kind: "accepted", observation };
  if (status >= 200 && status < 300) return { kind: "success", observation };
  if (status >= 300 && status < 400 && status !== 304) {
    const location = observation.headers["location"];
    if (location !== undefined) return { kind: "redirect", location, observation };
  }
  const reason = `status_${status}`;
  // A read that failed changed nothing; a write that met an undecided server may have gone through, and so may one whose
  // answer is said to be elsewhere without a word where.
  if (sideEffect && (status < 400 || status >= 500 || UNDECIDED.has(status))) {
    return { kind: "unknown", reason, observation };
  }
  return { kind: "error", reason, observation };
}

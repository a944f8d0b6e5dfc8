import { defaults } from "../../kernel/defaults.ts";
import { readHttpDate } from "./http-date.ts";
import type { TransportObservation } from "./observation.ts";

export type RetryClass = "read" | "idempotent_write" | "non_idempotent_write";

interface RetryPolicy {
  readonly maxAttempts: number;
  readonly statuses: ReadonlySet<number>;
  readonly backoffMs: readonly number[];
}

/** The specification's example policy is our policy. */
const policies: Readonly<Record<RetryClass, RetryPolicy>> = {
  read: { maxAttempts: 3, statuses: new Set([408, 429, 502, 503, 504]), backoffMs: [2_000, 8_000] },
  idempotent_write: { maxAttempts: 2, statuses: new Set([408, 429, 503]), backoffMs: [2_000] },
  non_idempotent_write: { maxAttempts: 1, statuses: new Set(), backoffMs: [] },
};

export interface RetryAsk {
  readonly retryClass: RetryClass;
  /** How many attempts of this call were made, this one included. */
  readonly attempt: number;
  readonly observation: TransportObservation;
  /** For how long a repeat may still leave under the call's idempotency token; zero or less where it has none. */
  readonly tokenLeftMs: number;
  readonly timeLeftMs: number;
  /** What a Retry-After with a date counts from where the answer itself is not dated. */
  readonly wallMs: number;
  /** In [0, 1): spreads the waits of many callers. */
  readonly spread: number;
  readonly jitter: number;
}

export type RetryDecision =
  | { readonly kind: "stop"; readonly why: "not_retryable" | "attempts_used" | "no_token" | "would_outlast_run" }
  | { readonly kind: "retry"; readonly waitMs: number };

/** Decides about another send of the same command. An unknown outcome of a write is never among the reasons to retry. */
export function decideRetry(ask: RetryAsk): RetryDecision {
  const policy = policies[ask.retryClass];
  if (!isRetryable(ask, policy)) return { kind: "stop", why: "not_retryable" };
  if (ask.attempt >= policy.maxAttempts) return { kind: "stop", why: "attempts_used" };
  const base = policy.backoffMs[ask.attempt - 1] ?? policy.backoffMs.at(-1) ?? 0;
  const backoff = Math.round(base * (1 - ask.jitter + 2 * ask.jitter * ask.spread));
  const waitMs = retryAfterMs(ask.observation, ask.wallMs) ?? backoff;
  if (ask.retryClass === "idempotent_write" && waitMs >= ask.tokenLeftMs) return { kind: "stop", why: "no_token" };
  return waitMs < ask.timeLeftMs ? { kind: "retry", waitMs } : { kind: "stop", why: "would_outlast_run" };
}

function isRetryable(ask: RetryAsk, policy: RetryPolicy): boolean {
  switch (ask.observation.kind) {
    case "answered":
      return policy.statuses.has(ask.observation.status);
    case "never_sent":
      // What was called off is not wanted any more.
      if (ask.observation.reason === "aborted") return false;
      return ask.observation.connected || ask.observation.reason === "name_not_resolved";
    case "silent":
      // A read that got no answer changed nothing, and only a lost or late one may come out better the next time. A write
      // without an answer is unknown: retries are paused.
      return ask.retryClass === "read" && ["timeout", "connection_lost"].includes(ask.observation.reason);
  }
}

/**
 * How long the answer asks to wait, in seconds or until a date; null where it does not say. A date counts from the answer's
 * own `Date`, so that two clocks that differ make no difference, and from ours where there is none.
 */
export function retryAfterMs(observation: TransportObservation, wallMs: number): number | null {
  if (observation.kind !== "answered") return null;
  const { headers } = observation;
  const text = headers["retry-after"]?.trim() ?? "";
  const asked = /^[0-9]{1,9}$/.test(text) ? Number(text) * 1000 : untilDate(text, headers["date"], wallMs);
  return asked === null ? null : Math.min(Math.max(asked, defaults.retryAfterMinimumMs), defaults.retryAfterMaximumMs);
}

function untilDate(text: string, date: string | undefined, wallMs: number): number | null {
  const until = readHttpDate(text);
  return until === null ? null : until - (readHttpDate(date?.trim() ?? "") ?? wallMs);
}

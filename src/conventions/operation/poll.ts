import { defaults } from "../../kernel/defaults.ts";

export interface PollSchedule {
  readonly firstMs: number;
  readonly capMs: number;
  readonly jitter: number;
}

export const standardSchedule: PollSchedule = {
  firstMs: defaults.pollFirstMs,
  capMs: defaults.pollCapMs,
  jitter: defaults.pollJitter,
};

/**
 * How long to wait before check number `checks + 1`: doubling from the first wait to the cap, jittered by `drawn` in
 * [0, 1). Where the provider says when to come back, that is when.
 */
export function pollDelayMs(
  schedule: PollSchedule,
  checks: number,
  retryAfterMs: number | null,
  drawn: number,
): number {
  if (retryAfterMs !== null) return retryAfterMs;
  const plain = Math.min(schedule.capMs, schedule.firstMs * 2 ** Math.min(checks, 30));
  return Math.round(plain * (1 + schedule.jitter * (2 * drawn - 1)));
}

import { createAllowances } from "./allowance.ts";

/**
 * How much may be written down because of somebody whom no person has said yes to: so many bytes at once, and as many again
 * a day. What is told one by one leaves the second half to questions for a person, so that refusals alone silence nobody.
 */
export interface Volume {
  /** Whether one thing more may be told on its own; past that it is counted. */
  tells(who: string): boolean;
  /** Whether a person may still be asked something on behalf of this user. */
  asks(who: string): boolean;
  /** What was written. The last thing may be larger than what was left: it is paid back first. */
  charge(who: string, bytes: number): void;
}

export interface VolumeLimits {
  readonly bytesPerDay: number;
  readonly remembered: number;
}

const SECONDS_A_DAY = 86_400;

export function createVolume({ bytesPerDay, remembered }: VolumeLimits, nowMs: () => number): Volume {
  const bytes = createAllowances({ burst: bytesPerDay, perSecond: bytesPerDay / SECONDS_A_DAY, remembered });
  return {
    tells: (who) => bytes.left(who, nowMs()) > bytesPerDay / 2,
    asks: (who) => bytes.left(who, nowMs()) > 0,
    charge: (who, written) => bytes.charge(who, nowMs(), written),
  };
}

import type { Clock } from "../../kernel/clock.ts";
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

/** A volume that outlives whoever counts it. */
export interface LastingVolume extends Volume {
  /** Takes up what an earlier life kept; from here on, and whenever it is called again, what is used is kept. */
  recall(kept: readonly UsedVolume[]): void;
}

/** What somebody had used at a moment of the wall clock, and a little more. */
export interface UsedVolume {
  readonly who: string;
  readonly bytes: number;
  readonly atMs: number;
}

export interface VolumeLimits {
  readonly bytesPerDay: number;
  readonly remembered: number;
}

const DAY_MS = 86_400_000;
/** So many times a day's volume is kept before it is used up. */
const KEPT_PER_DAY = 1_024;

export function createVolume(
  { bytesPerDay, remembered }: VolumeLimits,
  { bootMs, wallMs }: Pick<Clock, "bootMs" | "wallMs">,
  keep: (used: UsedVolume) => void,
): LastingVolume {
  const limits = { burst: bytesPerDay, perSecond: (bytesPerDay * 1000) / DAY_MS, remembered };
  const bytes = createAllowances(limits);
  /** What a start after this moment would find left: never more than there is. */
  let kept: typeof bytes | null = null;

  function keepUsed(who: string): void {
    const nowMs = bootMs();
    const forgotten = kept === null ? 0 : kept.left(who, nowMs) - bytes.left(who, nowMs);
    if (kept === null || forgotten <= 0) return;
    kept.charge(who, nowMs, forgotten + bytesPerDay / KEPT_PER_DAY);
    keep({ who, bytes: Math.ceil(bytesPerDay - kept.left(who, nowMs)), atMs: wallMs() });
  }

  return {
    tells: (who) => bytes.left(who, bootMs()) > bytesPerDay / 2,
    asks: (who) => bytes.left(who, bootMs()) > 0,
    charge(who, written) {
      bytes.charge(who, bootMs(), written);
      keepUsed(who);
    },
    recall(found) {
      const first = kept === null;
      // What a locked gateway charged could not be kept until now.
      kept = createAllowances(limits);
      for (const { who, bytes: used, atMs } of first ? found : []) {
        const since = Math.max(0, wallMs() - atMs);
        bytes.charge(who, bootMs(), Math.max(0, used - (since / DAY_MS) * bytesPerDay));
      }
      for (const who of bytes.known()) keepUsed(who);
    },
  };
}

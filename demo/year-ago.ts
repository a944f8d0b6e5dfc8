import type { Clock } from "../src/kernel/clock.ts";

const YEAR_MS = 31_536_000_000;

/** The same clock with the date of a year ago. What waits or expires counts as ever. */
export function yearAgo(clock: Clock): Clock {
  return { ...clock, wallMs: () => clock.wallMs() - YEAR_MS };
}

import { isoTime } from "../../kernel/clock.ts";

/** How much of something there was on one UTC day. */
export interface DayCount {
  readonly day: string;
  readonly used: number;
}

/** What counts now: a new day begins with nothing, and a clock that was set back gives no day again. */
export function countToday(last: DayCount | null, wallMs: number): DayCount {
  const today = isoTime(wallMs).slice(0, 10);
  return last !== null && last.day >= today ? last : { day: today, used: 0 };
}

/** A count that cannot be read may have been any number: nothing more today. */
export function usedUp(wallMs: number): DayCount {
  return { ...countToday(null, wallMs), used: Number.MAX_SAFE_INTEGER };
}

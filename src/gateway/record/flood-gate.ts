import { type AllowanceLimits, createAllowances } from "../../conventions/budget/allowance.ts";
import { isoTime } from "../../kernel/clock.ts";
import type { Ports } from "../ports.ts";

/** What came more often than it is told one by one: how often, and from when to when. */
export interface Counted<What> {
  readonly what: What;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly count: number;
}

/** Keeps the log from being filled by whoever repeats themselves: past an allowance things are counted, once a second. */
export interface FloodGate<What> {
  /** Whether `what` may be told on its own, never where `alone` is false; otherwise it was counted, with everything else that has its key. */
  pass(who: string, key: string, what: What, alone?: boolean): boolean;
}

const REMEMBERED = 1_024;

export function createFloodGate<What>(
  { clock, sleep }: Pick<Ports, "clock" | "sleep">,
  limits: Pick<AllowanceLimits, "burst" | "perSecond">,
  tell: (counted: readonly Counted<What>[]) => Promise<void>,
): FloodGate<What> {
  const allowances = createAllowances({ ...limits, remembered: REMEMBERED });
  let counted = new Map<string, { what: What; firstAt: string; lastAt: string; count: number }>();

  async function tellLater(): Promise<void> {
    await sleep.sleep(1_000);
    const batch = [...counted.values()];
    counted = new Map();
    // What cannot be written any more has been refused all the same.
    await tell(batch).catch(() => undefined);
  }

  return {
    pass(who, key, what, alone = true) {
      if (alone && allowances.take(who, clock.bootMs())) return true;
      const at = isoTime(clock.wallMs());
      const entry = counted.get(key);
      if (entry !== undefined) {
        entry.count++;
        entry.lastAt = at;
      } else {
        if (counted.size === 0) void tellLater();
        counted.set(key, { what, firstAt: at, lastAt: at, count: 1 });
      }
      return false;
    },
  };
}

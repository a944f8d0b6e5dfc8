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
  /** Whether `what` may be told on its own; otherwise it was counted, with everything else that has its key. */
  pass(who: string, key: string, what: What): boolean;
}

export interface FloodLimits {
  readonly burst: number;
  readonly perSecond: number;
}

export function createFloodGate<What>(
  { clock, sleep }: Pick<Ports, "clock" | "sleep">,
  limits: FloodLimits,
  tell: (counted: readonly Counted<What>[]) => Promise<void>,
): FloodGate<What> {
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  let counted = new Map<string, { what: What; firstAt: string; lastAt: string; count: number }>();

  function take(who: string): boolean {
    const nowMs = clock.bootMs();
    const bucket = buckets.get(who) ?? { tokens: limits.burst, atMs: nowMs };
    const tokens = Math.min(limits.burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * limits.perSecond);
    buckets.set(who, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs });
    return tokens >= 1;
  }

  async function tellLater(): Promise<void> {
    await sleep.sleep(1_000);
    const batch = [...counted.values()];
    counted = new Map();
    // What cannot be written any more has been refused all the same.
    await tell(batch).catch(() => undefined);
  }

  return {
    pass(who, key, what) {
      if (take(who)) return true;
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

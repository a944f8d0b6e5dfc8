/** How often somebody may do something: so many at once, and then so many a second. */
export interface AllowanceLimits {
  readonly burst: number;
  readonly perSecond: number;
  /** How many are told apart. Who was not heard of for longest is forgotten, and starts anew. */
  readonly remembered: number;
}

export interface Allowances {
  /** Uses one up, or as many as it costs; false when so many are not left. */
  take(who: string, nowMs: number, cost?: number): boolean;
  /** What is left. Below nothing where more was charged than there was. */
  left(who: string, nowMs: number): number;
  /** Uses up what has happened already, whether it was left or not. */
  charge(who: string, nowMs: number, cost: number): void;
  /** Everybody who is told apart. */
  known(): readonly string[];
}

export function createAllowances(limits: AllowanceLimits): Allowances {
  const { burst, perSecond, remembered } = limits;
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();

  function left(who: string, nowMs: number): number {
    const bucket = buckets.get(who) ?? { tokens: burst, atMs: nowMs };
    return Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perSecond);
  }

  function charge(who: string, nowMs: number, cost: number): void {
    const tokens = left(who, nowMs) - cost;
    buckets.delete(who);
    buckets.set(who, { tokens, atMs: nowMs });
    for (const [oldest] of buckets) {
      if (buckets.size <= remembered) break;
      buckets.delete(oldest);
    }
  }

  return {
    left,
    charge,
    known: () => [...buckets.keys()],
    take(who, nowMs, cost = 1) {
      const enough = left(who, nowMs) >= cost;
      charge(who, nowMs, enough ? cost : 0);
      return enough;
    },
  };
}

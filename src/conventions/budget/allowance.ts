/** How often somebody may do something: so many at once, and then so many a second. */
export interface AllowanceLimits {
  readonly burst: number;
  readonly perSecond: number;
  /** How many are told apart. Who was not heard of for longest is forgotten, and starts anew. */
  readonly remembered: number;
}

export interface Allowances {
  /** Uses one up; false when there is none left. */
  take(who: string, nowMs: number): boolean;
}

export function createAllowances(limits: AllowanceLimits): Allowances {
  const { burst, perSecond, remembered } = limits;
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  return {
    take(who, nowMs) {
      const bucket = buckets.get(who) ?? { tokens: burst, atMs: nowMs };
      const tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perSecond);
      buckets.delete(who);
      buckets.set(who, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs });
      for (const [oldest] of buckets) {
        if (buckets.size <= remembered) break;
        buckets.delete(oldest);
      }
      return tokens >= 1;
    },
  };
}

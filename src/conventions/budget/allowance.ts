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
}

export function createAllowances(limits: AllowanceLimits): Allowances {
  const { burst, perSecond, remembered } = limits;
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  return {
    take(who, nowMs, cost = 1) {
      const bucket = buckets.get(who) ?? { tokens: burst, atMs: nowMs };
      const tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perSecond);
      buckets.delete(who);
      buckets.set(who, { tokens: tokens >= cost ? tokens - cost : tokens, atMs: nowMs });
      for (const [oldest] of buckets) {
        if (buckets.size <= remembered) break;
        buckets.delete(oldest);
      }
      return tokens >= cost;
    },
  };
}

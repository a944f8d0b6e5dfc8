import { defaults } from "../../kernel/defaults.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { SecretVersion } from "../../vault/entry.ts";

interface Failure {
  readonly version: SecretVersion;
  readonly times: number;
  readonly untilBootMs: number;
  readonly why: Denied;
}

/**
 * What failed lately, so that nothing asks again at once: by the label where the other side is in trouble, by the key of what was
 * wanted where it said no to that. What one call asks for keeps nobody else's call from its token.
 */
export function createFailures() {
  const found = new Map<string, Failure>();
  return {
    /** Throws where it is too early; otherwise for how long nobody may ask, should it fail once more. */
    waitMs(keys: readonly string[], version: SecretVersion, nowBootMs: number): number {
      const earlier = keys.flatMap((key) => found.get(key) ?? []).filter((one) => one.version === version);
      for (const { untilBootMs, why } of earlier) if (nowBootMs < untilBootMs) throw why;
      const times = Math.max(0, ...earlier.map((one) => one.times));
      return Math.min(defaults.tokenRetryMs * 2 ** Math.min(times, 20), defaults.tokenRetryMaxMs);
    },
    add(key: string, version: SecretVersion, untilBootMs: number, why: Denied): void {
      const before = found.get(key);
      found.delete(key);
      const oldest = found.size >= defaults.tokensHeld ? found.keys().next().value : undefined;
      if (oldest !== undefined) found.delete(oldest);
      found.set(key, { version, times: before?.version === version ? before.times + 1 : 1, untilBootMs, why });
    },
    forget(keys: readonly string[]): void {
      for (const key of keys) found.delete(key);
    },
    clear: (): void => found.clear(),
  };
}

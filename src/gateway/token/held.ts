import { defaults } from "../../kernel/defaults.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";

/** A token or a secret that was got from elsewhere, and until when it is lent. */
export interface Held {
  readonly token: Secret;
  readonly version: SecretVersion;
  readonly obtainedBootMs: number;
  readonly untilBootMs: number;
}

/** What was got, by label and what it is narrowed to: so many at most, and what is let go is wiped. */
export function createHeld(bootMs: () => number) {
  const held = new Map<string, Held>();

  function forget(key: string): void {
    held.get(key)?.token.wipe();
    held.delete(key);
  }

  return {
    forget,
    /** One of this version that may still be lent. Any other is of no use, and goes. */
    find(key: string, version: SecretVersion): Held | null {
      const one = held.get(key);
      if (one === undefined) return null;
      if (one.version === version && bootMs() < one.untilBootMs) return one;
      forget(key);
      return null;
    },
    /** Whether it is this very one that is kept, whether or not it may still be lent. */
    isKept: (key: string, one: Held): boolean => held.get(key) === one,
    /** In place of the one before; where there are too many, in place of the oldest. */
    keep(key: string, one: Held): void {
      forget(key);
      const oldest = held.size >= defaults.tokensHeld ? held.keys().next().value : undefined;
      if (oldest !== undefined) forget(oldest);
      held.set(key, one);
    },
    clear(): void {
      for (const key of [...held.keys()]) forget(key);
    },
  };
}

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { defaults } from "../../kernel/defaults.ts";
import type { Secret } from "../../kernel/secret.ts";
import type { SigningScope } from "../lent.ts";
import type { AwsKeys } from "./keys.ts";

/** What signs the requests of one day to one service in one region: it is derived from the secret key, which it does not give away. */
export interface SigningKeys {
  of(keys: AwsKeys, day: string, scope: SigningScope): KeyObject;
}

/** Kept for whoever signs again, outside the heap of the program, and let go of with the lock. */
export function createSigningKeys(): SigningKeys & { clear(): void } {
  const kept = new Map<string, { readonly secret: Secret; readonly key: KeyObject }>();

  function forget(name: string): void {
    kept.get(name)?.secret.wipe();
    kept.delete(name);
  }

  return {
    of(keys, day, scope) {
      const name = `${keys.id} ${day} ${scope.region} ${scope.service}`;
      const known = kept.get(name);
      // One id has one secret, unless somebody typed a wrong one first.
      if (known?.secret.equals(keys.secret) === true) return known.key;
      forget(name);
      const oldest = kept.size >= defaults.tokensHeld ? kept.keys().next().value : undefined;
      if (oldest !== undefined) forget(oldest);
      const key = deriveSigningKey(keys, day, scope);
      kept.set(name, { secret: keys.secret.copy(), key });
      return key;
    },
    clear() {
      for (const name of [...kept.keys()]) forget(name);
    },
  };
}

/** For who signs once in a while. */
export const derivedAnew: SigningKeys = { of: deriveSigningKey };

function deriveSigningKey({ secret }: AwsKeys, day: string, { region, service }: SigningScope): KeyObject {
  const first = secret.use((bytes) => Buffer.concat([Buffer.from("AWS4"), bytes]));
  return [day, region, service, "aws4_request"].reduce((key, link) => {
    const next = createHmac("sha256", key).update(link).digest();
    const made = createSecretKey(next);
    next.fill(0);
    return made;
  }, keyOf(first));
}

function keyOf(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

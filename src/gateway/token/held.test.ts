import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import { createHeld, type Held } from "./held.ts";

const [ONE, TWO] = ["one", "two"] as unknown as readonly [SecretVersion, SecretVersion];

function stand() {
  let bootMs = 0;
  const held = createHeld(() => bootMs);
  const make = (text: string, version = ONE): Held => ({
    ...{ token: Secret.fromText(text), version, obtainedBootMs: bootMs, untilBootMs: 100 },
  });
  const at = (ms: number): void => {
    bootMs = ms;
  };
  return { held, make, at };
}

/** What was wiped cannot be used. */
function isWiped({ token }: Held): boolean {
  try {
    token.copy().wipe();
    return false;
  } catch {
    return true;
  }
}

test("a token is lent until its end and for the version that it was got with; otherwise it is wiped", () => {
  for (const [ms, version, found] of [
    [99, ONE, true],
    [100, ONE, false],
    [0, TWO, false],
  ] as const) {
    const { held, make, at } = stand();
    const one = make("token");
    held.keep("a", one);
    at(ms);
    assert.equal(held.find("a", version), found ? one : null);
    assert.equal(isWiped(one), !found);
    assert.equal(held.isKept("a", one), found);
    assert.equal(held.find("b", version), null);
  }
});

test("another takes the place of the one before, which is wiped; so does forgetting it, and clearing all", () => {
  const { held, make } = stand();
  const [first, second, third] = [make("token"), make("token"), make("token")];
  held.keep("a", first);
  held.keep("a", second);
  held.keep("b", third);
  assert.deepEqual([first, second, third].map(isWiped), [true, false, false]);
  held.forget("a");
  assert.deepEqual([isWiped(second), held.find("a", ONE)], [true, null]);
  held.clear();
  assert.deepEqual([isWiped(third), held.find("b", ONE)], [true, null]);
});

test("so many are held and no more: the oldest makes room", () => {
  const { held, make } = stand();
  const all = Array.from({ length: defaults.tokensHeld + 1 }, () => make("token"));
  for (const [at, one] of all.entries()) held.keep(`key ${at}`, one);
  assert.deepEqual(
    all.map(isWiped).flatMap((wiped, at) => (wiped ? [at] : [])),
    [0],
  );
});

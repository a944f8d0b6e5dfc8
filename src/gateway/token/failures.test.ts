import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import { createFailures } from "./failures.ts";

const ONE = "1 of old" as SecretVersion;
const TWO = "2 of old" as SecretVersion;
const why = new Denied("token_refused", "no");
const other = new Denied("token_refused", "not that");
const { tokenRetryMs, tokenRetryMaxMs, tokensHeld } = defaults;

test("nobody asks again before its time, and from then on everybody may", () => {
  const failures = createFailures();
  assert.equal(failures.waitMs(["label"], ONE, 0), tokenRetryMs);
  failures.add("label", ONE, 1_000, why);
  assert.throws(() => failures.waitMs(["label"], ONE, 999), why);
  assert.equal(failures.waitMs(["label"], ONE, 1_000), 2 * tokenRetryMs);
  assert.equal(failures.waitMs(["another"], ONE, 0), tokenRetryMs, "what failed for one keeps nobody else");
});

test("each failure doubles the wait, up to its most", () => {
  const failures = createFailures();
  for (let times = 0; times < 40; times++) {
    assert.equal(failures.waitMs(["label"], ONE, 0), Math.min(tokenRetryMs * 2 ** times, tokenRetryMaxMs));
    failures.add("label", ONE, 0, why);
  }
});

test("of several keys each counts, the one that failed most for the next wait", () => {
  const failures = createFailures();
  failures.add("label", ONE, 0, why);
  failures.add("wanted", ONE, 0, other);
  failures.add("wanted", ONE, 500, other);
  assert.equal(failures.waitMs(["label"], ONE, 0), 2 * tokenRetryMs);
  assert.throws(() => failures.waitMs(["label", "wanted"], ONE, 499), other);
  assert.equal(failures.waitMs(["label", "wanted"], ONE, 500), 4 * tokenRetryMs);
});

test("what failed with an older secret says nothing of the new one, and is counted anew with it", () => {
  const failures = createFailures();
  failures.add("label", ONE, 1_000, why);
  failures.add("label", ONE, 1_000, why);
  assert.equal(failures.waitMs(["label"], TWO, 0), tokenRetryMs);
  failures.add("label", TWO, 1_000, why);
  assert.equal(failures.waitMs(["label"], TWO, 1_000), 2 * tokenRetryMs);
});

test("what went well is forgotten, alone or with all the rest", () => {
  const failures = createFailures();
  for (const key of ["one", "two", "three"]) failures.add(key, ONE, 1_000, why);
  failures.forget(["one", "two"]);
  for (const key of ["one", "two"]) assert.equal(failures.waitMs([key], ONE, 0), tokenRetryMs);
  assert.throws(() => failures.waitMs(["three"], ONE, 0), why);
  failures.clear();
  assert.equal(failures.waitMs(["three"], ONE, 0), tokenRetryMs);
});

test("so many are remembered, and the oldest makes room; one that fails again is no longer the oldest", () => {
  const failures = createFailures();
  for (let at = 0; at < tokensHeld; at++) failures.add(`key ${at}`, ONE, 1_000, why);
  failures.add("key 1", ONE, 1_000, why);
  assert.throws(() => failures.waitMs(["key 0"], ONE, 0), why);
  failures.add("one more", ONE, 1_000, why);
  failures.add("and one", ONE, 1_000, why);
  for (const key of ["key 0", "key 2"]) assert.equal(failures.waitMs([key], ONE, 0), tokenRetryMs);
  for (const key of ["key 1", "key 3", "one more", "and one"]) assert.throws(() => failures.waitMs([key], ONE, 0), why);
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { beforeEach, test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { createGuard, type Guard } from "./guard.ts";

let nowMs = 0;
let enrolled = ["phone"];
let asked = 0;
beforeEach(() => {
  nowMs = 1_000;
  enrolled = ["phone"];
  asked = 0;
});
const guardOf = (remote: boolean): Guard =>
  createGuard({
    ...{ clock: { bootMs: () => nowMs }, random: { bytes: (size) => randomBytes(size) }, remote },
    isEnrolled: (id) => enrolled.includes(id),
    onNoneLeft: () => void asked++,
  });
const pageOf = (guard: Guard, key: string) => guard.requirePage({ authorization: `Bearer ${key}` });
const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

test("a link is good once and for minutes", () => {
  const guard = guardOf(false);
  const token = guard.newToken();
  const key = guard.enter(token);
  assert.throws(() => guard.enter(token), denies("console_link_spent"));
  const late = guard.newToken();
  nowMs += defaults.consoleTokenMs;
  assert.throws(() => guard.enter(late), denies("console_link_spent"));
  nowMs += 30 * defaults.consoleLoginMs;
  assert.equal(pageOf(guard, key).entered, "link", "a page on this machine stays");
  assert.throws(() => pageOf(guard, token), denies("console_not_entered"));
  assert.throws(() => guard.requirePage({}), denies("console_not_entered"));
});

test("whoever comes with an old link when none is good any more gets another, and only on this machine", () => {
  for (const remote of [false, true]) {
    asked = 0;
    const guard = guardOf(remote);
    const used = guard.newToken();
    guard.enter(used);
    const next = guard.newToken();
    assert.throws(() => guard.enter(used), denies("console_link_spent"));
    assert.equal(asked, 0, "there is one in the terminal");
    nowMs += defaults.consoleTokenMs;
    assert.throws(() => guard.enter(next), denies("console_link_spent"));
    assert.equal(asked, remote ? 0 : 1);
  }
});

test("beyond this machine a page that a link opened is in for minutes, or until it has enrolled", () => {
  const guard = guardOf(true);
  const first = guard.enter(guard.newToken());
  const page = pageOf(guard, first);
  page.end();
  assert.equal(page.isIn(), false);
  assert.throws(() => pageOf(guard, first), denies("console_not_entered"));
  const second = guard.enter(guard.newToken());
  nowMs += defaults.consoleTokenMs - 1;
  assert.equal(pageOf(guard, second).isIn(), true);
  nowMs += 1;
  assert.throws(() => pageOf(guard, second), denies("console_not_entered"));
});

test("a page of a passkey is in for its hours, and no longer than the passkey is enrolled", () => {
  const guard = guardOf(true);
  const page = pageOf(guard, guard.admit("phone"));
  assert.equal(page.entered, "passkey");
  nowMs += defaults.consoleLoginMs - 1;
  assert.equal(page.isIn(), true);
  nowMs += 1;
  assert.equal(page.isIn(), false);
  const key = guard.admit("phone");
  const lost = pageOf(guard, key);
  enrolled = ["another"];
  assert.equal(lost.isIn(), false);
  assert.throws(() => pageOf(guard, key), denies("console_not_entered"));
});

test("so many pages are let in and no more: the oldest goes", () => {
  const guard = guardOf(false);
  const keys = Array.from({ length: defaults.consolePages + 1 }, () => guard.enter(guard.newToken()));
  assert.throws(() => pageOf(guard, keys[0] ?? ""), denies("console_not_entered"));
  assert.equal(pageOf(guard, keys[1] ?? "").isIn(), true);
});

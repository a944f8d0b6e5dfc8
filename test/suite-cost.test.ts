import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, unseenBy } from "../scripts/suite/cost.ts";
import type { Seen } from "../scripts/suite/others.ts";

/** One that was waited for by nobody yet: its times, and what it waited for. */
function seen(pid: number, parent: number, ticks: number, waited = 0): Seen {
  return { pid, parent, ticks, waited, group: pid, session: pid, startedAt: pid };
}
const SELF = process.pid;
const CHILD = SELF + 1;
const GRANDCHILD = SELF + 2;

/** What this process waited for and never saw, after these looks. */
function unseenAfter(...looks: readonly (readonly Seen[])[]): number {
  const none: ReturnType<typeof follow> = new Map();
  const self = looks.reduce((before, there, at) => follow(before, there, at), none).get(SELF);
  assert.ok(self);
  return unseenBy(self);
}

test("what a child did after the last look, and one that was never looked at, are unseen", () => {
  const before = [seen(SELF, 1, 10), seen(CHILD, SELF, 70)];
  assert.equal(unseenAfter(before, [seen(SELF, 1, 10 + 75, 75)]), 5);
  assert.equal(unseenAfter(before, [seen(SELF, 1, 10 + 75, 75)], [seen(SELF, 1, 10 + 78, 78)]), 8);
});

test("a child that goes between the look at this process and the look at itself is not counted twice", () => {
  assert.equal(
    unseenAfter([seen(SELF, 1, 10), seen(CHILD, SELF, 70)], [seen(SELF, 1, 10)], [seen(SELF, 1, 80, 70)]),
    0,
  );
});

test("what ends together with whoever waited for it is not counted twice", () => {
  const before = [seen(SELF, 1, 10), seen(CHILD, SELF, 20), seen(GRANDCHILD, CHILD, 300)];
  assert.equal(unseenAfter(before, [seen(SELF, 1, 10 + 320, 320)]), 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { countOthers, type Look, type Seen } from "../scripts/suite/others.ts";

const SHELL = 50;
const SELF = 100;

/** A process that leads its own group, unless it says otherwise. */
function seen(pid: number, parent: number, ticks: number, more: Partial<Seen> = {}): Seen {
  return { pid, parent, ticks, group: pid, session: pid, startedAt: pid, waited: 0, ...more };
}

/** Beside the shell that started this run, whose session it shares. */
function machine(busy: number, shell: number, ...processes: readonly Seen[]): Look {
  return { busy, processes: [seen(SHELL, 1, shell), ...processes] };
}
const self = (ticks: number): Seen => seen(SELF, SHELL, ticks, { session: SHELL });

test("others are whoever this run did not start: also a shell of the same session", () => {
  const tally = countOthers(SELF, machine(1_000, 7, self(0)));
  assert.equal(tally(machine(1_100, 47, self(20), seen(101, SELF, 40))), 40);
  assert.equal(tally(machine(1_200, 47, self(120), seen(101, SELF, 40))), 0);
});

test("a process that a test left behind stays one of the run, and so does what it starts", () => {
  const tally = countOthers(SELF, machine(0, 0, self(0)));
  assert.equal(tally(machine(100, 0, self(0), seen(101, SELF, 50), seen(102, 101, 50))), 0);
  // 101 has ended, and nobody of this run is the parent of 102 and of its child any more.
  const left = [seen(102, 1, 80, { group: 101 }), seen(103, 102, 20)];
  assert.equal(tally(machine(150, 0, self(50), ...left)), 0);
});

test("one that was never seen with its parent is known by its group", () => {
  const tally = countOthers(SELF, machine(0, 0, self(0), seen(101, SELF, 0)));
  assert.equal(tally(machine(60, 0, self(0), seen(101, SELF, 10), seen(900, 1, 50, { group: 101, session: 101 }))), 0);
});

test("what was killed together with its parent is not given to others, and what it did is not counted twice", () => {
  const tally = countOthers(SELF, machine(0, 0, self(0), seen(101, SELF, 300), seen(102, 101, 500)));
  // Nobody waited for 102; this process waited for 101.
  assert.equal(tally(machine(100, 0, self(400))), 0);
  assert.equal(tally(machine(200, 0, self(430))), 70);
});

test("a number that is used again is another process", () => {
  const tally = countOthers(SELF, machine(0, 0, self(0), seen(101, SELF, 10)));
  assert.equal(tally(machine(100, 0, self(10), seen(101, 1, 100, { startedAt: 5_000 }))), 100);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { createDueLoop, type DueLoop } from "./due-loop.ts";

interface Thing {
  readonly name: string;
  dueMs: number | null;
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** A loop whose work ends when a test says so, and time that is moved by hand. */
function stand({ atOnce = 9, perMinute = 99 } = {}) {
  let nowMs = 1_000;
  let sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];
  const begun: string[] = [];
  const ended: string[] = [];
  const ends = new Map<string, () => void>();
  const loop: DueLoop<Thing> = createDueLoop<Thing>(
    {
      clock: { bootMs: () => nowMs },
      sleep: {
        sleep: (ms, signal) =>
          new Promise((wake) => {
            assert.equal(signal?.aborted, false, "it would not sleep at all");
            const sleeper = { atMs: nowMs + ms, wake };
            sleepers.push(sleeper);
            signal?.addEventListener("abort", () => {
              sleepers = sleepers.filter((one) => one !== sleeper);
              wake();
            });
          }),
      },
    },
    {
      dueOf: ({ dueMs }) => dueMs,
      begin(thing) {
        begun.push(thing.name);
        const { promise, resolve } = Promise.withResolvers<void>();
        ends.set(thing.name, resolve);
        void loop.hold(thing, promise);
      },
      ended: (thing) => {
        ended.push(thing.name);
        loop.schedule(thing);
      },
    },
    { atOnce, perMinute },
  );
  return {
    ...{ loop, begun, ended },
    add(name: string, dueMs: number | null): Thing {
      const thing = { name, dueMs };
      loop.schedule(thing);
      return thing;
    },
    async pass(ms: number): Promise<void> {
      nowMs += ms;
      const due = sleepers.filter(({ atMs }) => atMs <= nowMs);
      sleepers = sleepers.filter((one) => !due.includes(one));
      for (const { wake } of due) wake();
      await turns();
    },
    /** Its work is done; when it is due next. */
    async end(thing: Thing, dueMs: number | null = null): Promise<void> {
      thing.dueMs = dueMs;
      ends.get(thing.name)?.();
      await turns();
    },
    naps: () => sleepers.map(({ atMs }) => atMs - nowMs),
  };
}

test("each thing is begun when it is due, the soonest first, and what waits for nothing is not", async () => {
  const { loop, begun, add, pass, naps } = stand();
  loop.start();
  add("never", null);
  add("later", 1_030);
  add("soon", 1_020);
  await pass(19);
  assert.deepEqual([begun, naps()], [[], [1]]);
  await pass(1);
  assert.deepEqual(begun, ["soon"]);
  add("sooner", 1_025);
  await pass(10);
  assert.deepEqual(begun, ["soon", "sooner", "later"]);
  assert.deepEqual(naps(), [], "nothing waits: nobody wakes the process");
  add("at once", 1_000);
  await turns();
  assert.equal(begun.at(-1), "at once");
});

test("what was moved on or put off meanwhile is not begun at its old time", async () => {
  const { loop, begun, add, pass } = stand();
  loop.start();
  const [off, over] = [add("off", 1_010), add("over", 1_010)];
  off.dueMs = 1_040;
  loop.schedule(off);
  over.dueMs = null;
  await pass(10);
  await pass(20);
  assert.deepEqual(begun, []);
  await pass(10);
  assert.deepEqual(begun, ["off"]);
});

test("what is under way is not begun beside itself, and is looked at anew when it ends", async () => {
  const { loop, begun, ended, add, pass, end } = stand();
  loop.start();
  const thing = add("a", 1_000);
  await turns();
  assert.ok(loop.underWay(thing) !== undefined);
  loop.schedule(thing);
  await pass(10);
  assert.deepEqual([begun, ended], [["a"], []]);
  await end(thing, 1_030);
  assert.deepEqual([begun, ended, loop.underWay(thing)], [["a"], ["a"], undefined]);
  await pass(20);
  assert.deepEqual(begun, ["a", "a"]);
});

test("no more than so many are under way at once, and the next one begins when one of them ends", async () => {
  const { loop, begun, add, end } = stand({ atOnce: 2 });
  loop.start();
  const [one] = ["a", "b", "c", "d"].map((name) => add(name, 1_000));
  await turns();
  assert.deepEqual(begun, ["a", "b"]);
  await end(one as Thing);
  assert.deepEqual(begun, ["a", "b", "c"]);
});

test("no more than so many are begun in a minute, and the process sleeps until it is over", async () => {
  const { loop, begun, add, pass, naps } = stand({ perMinute: 2 });
  loop.start();
  for (const name of ["a", "b", "c"]) add(name, 1_000);
  await turns();
  assert.deepEqual([begun, naps()], [["a", "b"], [Math.min(60_000, defaults.expiryLookMs)]]);
  await pass(59_999);
  assert.deepEqual([begun, naps()], [["a", "b"], [1]]);
  await pass(1);
  assert.deepEqual(begun, ["a", "b", "c"]);
  for (const name of ["d", "e"]) add(name, 1_000);
  await turns();
  assert.deepEqual(begun, ["a", "b", "c", "d"], "and then of the next one");
});

test("a clock is looked at from time to time, however far away the next time is", async () => {
  const { loop, add, naps } = stand();
  loop.start();
  add("far", 1_000 + 10 * defaults.expiryLookMs);
  await turns();
  assert.deepEqual(naps(), [defaults.expiryLookMs]);
});

test("before it starts nothing is begun; stopped, nothing more is begun or kept, and what is under way ends first", async () => {
  const { loop, begun, add, pass, end, naps } = stand();
  const thing = add("a", 1_000);
  await turns();
  assert.deepEqual(begun, []);
  loop.start();
  await turns();
  assert.deepEqual(begun, ["a"]);
  add("later", 1_010);
  await turns();
  loop.start();
  await turns();
  assert.deepEqual([begun, naps()], [["a"], [10]]);
  const stopping = loop.stop().then(() => "stopped");
  await turns();
  assert.deepEqual(naps(), []);
  assert.equal(await Promise.race([stopping, turns().then(() => "waits")]), "waits");
  await end(thing, 1_000);
  assert.equal(await stopping, "stopped");
  loop.start();
  await pass(20);
  assert.deepEqual([begun, naps()], [["a"], []]);
});

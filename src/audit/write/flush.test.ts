import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LogFile } from "../files.ts";
import { startFlushing } from "./flush.ts";

/** A disk whose next flush takes as long as it is told to, by a clock that only flushes move. */
function slowDisk() {
  let now = 0;
  let takes = 0;
  const done: string[] = [];
  const file: LogFile = {
    write: () => undefined,
    syncInline() {
      now += takes;
      done.push("inline");
    },
    sync: async () => {
      now += takes;
      done.push("pool");
    },
    truncate: () => undefined,
    close: () => undefined,
  };
  return {
    file,
    done,
    nowMs: () => now,
    take(ms: number) {
      takes = ms;
    },
  };
}

test("short flushes run inline; a disk that becomes slow moves them to the thread pool, all but a few, a quick one back", async () => {
  const disk = slowDisk();
  const flush = startFlushing(disk, 0.25);
  const run = async (times: number, ms: number): Promise<readonly string[]> => {
    disk.take(ms);
    for (let index = 0; index < times; index++) await flush(disk.file);
    return disk.done.slice(-32);
  };
  const inlineOf = (done: readonly string[]): number => done.filter((how) => how === "inline").length;
  assert.equal(inlineOf(await run(50, 0.1)), 32);
  assert.equal(inlineOf(await run(50, 100)), 1);
  assert.equal(inlineOf(await run(1_000, 0.1)), 32);
});

test("what the pool adds to a flush does not keep a quick disk there", async () => {
  const disk = slowDisk();
  const late: LogFile = {
    ...disk.file,
    async sync() {
      disk.take(5);
      await disk.file.sync();
      disk.take(0.1);
    },
  };
  const flush = startFlushing(disk, 0.25);
  disk.take(1);
  for (let index = 0; index < 10; index++) await flush(late);
  assert.equal(disk.done.at(-1), "pool");
  disk.take(0.1);
  for (let index = 0; index < 1_000; index++) await flush(late);
  assert.equal(disk.done.at(-1), "inline");
});

test("one slow flush among quick ones does not send the next to the pool, a stretch of them does", async () => {
  const disk = slowDisk();
  const flush = startFlushing(disk, 0.25);
  disk.take(0.05);
  for (let index = 0; index < 50; index++) await flush(disk.file);
  disk.take(1);
  await flush(disk.file);
  disk.take(0.05);
  await flush(disk.file);
  assert.equal(disk.done.at(-1), "inline");
});

test("a flush says that it is done only when the disk has said so", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { maxLength: 60 }), async (times) => {
      const disk = slowDisk();
      const flush = startFlushing(disk, 0.25);
      for (const [index, ms] of times.entries()) {
        disk.take(ms);
        const waiting = flush(disk.file);
        if (waiting === undefined) assert.equal(disk.done.at(-1), "inline");
        await waiting;
        assert.equal(disk.done.length, index + 1);
      }
    }),
  );
});

test("a flush that fails is told to whoever asked, inline and in the pool", async () => {
  const failing: LogFile = {
    ...slowDisk().file,
    syncInline() {
      throw new Error("EIO");
    },
    sync: () => Promise.reject(new Error("EIO")),
  };
  assert.throws(() => startFlushing({ nowMs: () => 0 }, 0.25)(failing), /EIO/);
  await assert.rejects(async () => startFlushing({ nowMs: () => 0 }, 0)(failing), /EIO/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationBoard } from "../../conventions/operation/summary.ts";
import { defaults } from "../../kernel/defaults.ts";
import { openTime } from "../cli/watch/testing/desk.ts";
import { createOperationNews } from "./operation-news.ts";

function begin() {
  const time = openTime();
  const watchers = new Set<() => void>();
  let made = 0;
  const news = createOperationNews(
    {
      watch(listener) {
        watchers.add(listener);
        return () => void watchers.delete(listener);
      },
      board: (): OperationBoard => ({ open: ++made, needs_person: 0, shown: [], ended: [] }),
    },
    time.clock,
    time.sleep,
  );
  const change = (): void => {
    for (const listener of [...watchers]) listener();
  };
  return { time, news, change, watchers, made: () => made };
}

test("a watcher is told at once how operations stand, and again when one changed", async () => {
  const { time, news, change } = begin();
  const told: number[] = [];
  news.watch(({ open }) => told.push(open));
  assert.deepEqual(told, [1]);
  change();
  await time.pass(100);
  assert.deepEqual(told, [1, 2]);
});

test("however many change, one board is made for all watchers, and at most so often", async () => {
  const { time, news, change, made } = begin();
  let [one, other] = [0, 0];
  news.watch(() => void one++);
  news.watch(() => void other++);
  const before = made();
  for (let round = 0; round < 100; round++) {
    for (let index = 0; index < 50; index++) change();
    await time.pass(50);
  }
  await time.pass(defaults.operationNewsMs);
  const boards = made() - before;
  assert.ok(boards >= 5 && boards <= Math.ceil(5_500 / defaults.operationNewsMs) + 1, String(boards));
  assert.deepEqual([one, other], [boards + 1, boards + 1]);
});

test("the last change is never lost, even when it comes right after a board", async () => {
  const { time, news, change } = begin();
  const told: number[] = [];
  news.watch(({ open }) => told.push(open));
  change();
  await time.pass(50);
  change();
  await time.pass(50);
  assert.equal(told.length, 2, "it waits");
  await time.pass(defaults.operationNewsMs);
  assert.equal(told.length, 3);
});

test("without a watcher nothing is watched and no board is made", async () => {
  const { time, news, change, watchers, made } = begin();
  const stop = news.watch(() => undefined);
  assert.equal(watchers.size, 1);
  change();
  stop();
  assert.equal(watchers.size, 0);
  await time.pass(2_000);
  assert.equal(made(), 1);
  news.watch(() => undefined)();
  assert.equal(watchers.size, 0);
});

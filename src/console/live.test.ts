import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import type { PageClient } from "../surfaces/cli/watch/feed.ts";
import { viewOf } from "../surfaces/cli/watch/testing/table.ts";
import type { ApprovalRecord } from "../surfaces/operator/answers.ts";
import { followGateway, type News } from "./live.ts";

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test("a list that was asked for before a card was told of knows nothing of it: neither its end nor that it waits", async () => {
  let nowMs = 1_000;
  const asked: ((views: readonly ApprovalRecord[]) => void)[] = [];
  const naps: (() => void)[] = [];
  const client = {
    watch: async function* (signal: AbortSignal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    status: async () => ({ mode: "user", uid: 0, locked: false }),
    approvals: () => new Promise((resolve) => asked.push(resolve)),
    close: () => undefined,
  } as unknown as PageClient;
  const stop = new AbortController();
  const live = followGateway(
    client,
    {
      clock: { bootMs: () => nowMs },
      // Of the sleeps only those between two lists end by themselves here.
      sleep: { sleep: (ms) => new Promise((resolve) => void (ms === defaults.watchPollMs && naps.push(resolve))) },
      connect: () => Promise.resolve(client),
    },
    stop.signal,
  );
  let waiting: readonly string[] = [];
  live.follow((news: News) => {
    if (news.kind === "waiting") waiting = news.approvals.map(({ approval_id }) => approval_id);
  });
  const answer = async (...views: readonly ApprovalRecord[]): Promise<void> => {
    asked.shift()?.(views);
    await turns();
  };
  const askAgain = async (): Promise<void> => {
    nowMs += 10;
    naps.shift()?.();
    await turns();
  };

  await turns();
  nowMs += 5;
  live.note(viewOf("apr_new"));
  await answer(viewOf("apr_old"));
  assert.deepEqual(waiting, ["apr_old", "apr_new"], "it came after the list was asked for");
  await askAgain();
  nowMs += 5;
  live.note(viewOf("apr_old", { state: "approved" }));
  await answer(viewOf("apr_old"), viewOf("apr_new"));
  assert.deepEqual(waiting, ["apr_new"], "it was decided after that one was asked for");
  await askAgain();
  await answer();
  assert.deepEqual(waiting, [], "and whoever is asked later knows better");
  stop.abort();
});

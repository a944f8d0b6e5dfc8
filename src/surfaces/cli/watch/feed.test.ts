import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "../../../conventions/operation/testing/summary.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Unreachable } from "../../client/connection.ts";
import { type FeedEvent, inTime, reasonOf, startFeed } from "./feed.ts";
import { boardOf } from "./testing/board.ts";
import { openDesk, openTime } from "./testing/desk.ts";
import { viewOf } from "./testing/table.ts";

function begin() {
  const desk = openDesk();
  const time = openTime();
  const stop = new AbortController();
  const events: FeedEvent[] = [];
  const feed = startFeed(
    desk.client,
    { ...time, connect: desk.connect, tell: (event) => events.push(event) },
    stop.signal,
  );
  return { desk, time, stop, events, feed };
}

test("news comes from the stream, and the whole list beside it", async () => {
  const { desk, time, stop, events, feed } = begin();
  await time.pass(100);
  desk.tell(viewOf("apr_1"));
  await time.pass(100);
  assert.ok(events.some((event) => event.kind === "live" && event.guardRail));
  assert.ok(events.some((event) => event.kind === "approval" && event.view.approval_id === "apr_1"));
  await time.pass(defaults.watchPollMs);
  const list = events.filter((event) => event.kind === "list").at(-1);
  assert.ok(list?.kind === "list" && list.views.length === 1);
  stop.abort();
  await feed.done;
});

test("a lost gateway is tried again, ever more slowly to a cap, with a login of its own", async () => {
  const { desk, time, stop, events, feed } = begin();
  await time.pass(100);
  desk.die();
  await time.pass(60_000);
  const waits = events.flatMap((event) => (event.kind === "lost" ? [event.retryInMs] : []));
  assert.deepEqual(waits.slice(0, 4), [500, 1_000, 2_000, 4_000]);
  assert.equal(Math.max(...waits), defaults.watchRetryCapMs);
  assert.throws(() => feed.client(), Unreachable);
  desk.up = true;
  const before = desk.logins;
  await time.pass(defaults.watchRetryCapMs + 100);
  assert.equal(events.at(-1)?.kind, "list");
  assert.ok(desk.logins > before);
  assert.equal(feed.client(), desk.client);
  desk.die();
  await time.pass(100);
  const last = events.at(-1);
  assert.ok(last?.kind === "lost" && last.retryInMs === defaults.watchRetryFirstMs);
  stop.abort();
  await feed.done;
});

test("a gateway that went silent counts as lost", async () => {
  const time = openTime();
  const stop = new AbortController();
  const late = inTime(new Promise<never>(() => undefined), time.sleep, stop.signal);
  const refused = assert.rejects(late, Unreachable);
  await time.pass(defaults.watchAnswerMs + 100);
  await refused;
  assert.equal(await inTime(Promise.resolve(5), time.sleep, stop.signal), 5);
});

test("a connection that comes after nobody waits for it any more is closed", async () => {
  const { desk, stop: first, feed: ended } = begin();
  first.abort();
  await ended.done;
  const [time, stop] = [openTime(), new AbortController()];
  let [made, closed] = [0, 0];
  const connect = async (): Promise<typeof desk.client> => {
    made++;
    await time.sleep.sleep(defaults.watchAnswerMs + 1_000);
    return { ...desk.client, close: () => void closed++ };
  };
  desk.up = false;
  const feed = startFeed(desk.client, { ...time, connect, tell: () => undefined }, stop.signal);
  await time.pass(5 * defaults.watchAnswerMs);
  assert.ok(made >= 3 && closed >= made - 1, `${made} made, ${closed} closed`);
  stop.abort();
  await feed.done;
});

test("a refusal is told with its code", () => {
  assert.equal(reasonOf(new Denied("signature_invalid", "not yours")), "signature_invalid: not yours");
  assert.equal(reasonOf(new Error("x")), "x");
  assert.equal(reasonOf("y"), "y");
});

test("boards of operations come from the stream alone: nobody asks for them again and again", async () => {
  const { desk, time, stop, events, feed } = begin();
  await time.pass(100);
  const board = boardOf(operationOf("op_1"));
  desk.post(board);
  await time.pass(100);
  await time.pass(3 * defaults.watchPollMs);
  const told = events.flatMap((event) => (event.kind === "operations" ? [event.board] : []));
  assert.deepEqual(told, [boardOf(), board]);
  desk.die();
  desk.up = true;
  await time.pass(defaults.watchRetryCapMs);
  const again = events.flatMap((event) => (event.kind === "operations" ? [event.board] : []));
  assert.deepEqual(again.at(-1), board, "whole again after a reconnection");
  stop.abort();
  await feed.done;
});

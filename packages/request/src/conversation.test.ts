import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../src/kernel/failure.ts";
import { type Asked, doingOf, endAfterAnswers, inTurn, type Turn } from "./conversation.ts";

const denied = new Denied("framing_invalid", "it broke off");
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Requests of one connection, each held until the test lets it be answered. */
function stand() {
  const connection = {};
  const begun: { readonly turn: Turn; readonly end: (staysOpen: boolean) => Promise<void> }[] = [];
  const ask = (request: Asked = { complete: true }): void =>
    inTurn(connection, request, (turn) => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const end = async (staysOpen: boolean): Promise<void> => {
        resolve(staysOpen);
        await settle();
      };
      begun.push({ turn, end });
      return promise;
    });
  return { connection, begun, ask };
}

test("a request is begun when all before it are answered, and none after a reply that ends the connection", async () => {
  const { begun, ask } = stand();
  for (let count = 0; count < 3; count++) ask();
  assert.equal(begun.length, 1);
  await begun[0]?.end(true);
  assert.equal(begun.length, 2);
  await begun[1]?.end(false);
  assert.equal(begun.length, 2);
});

test("what a connection is doing is known from what is unanswered", async () => {
  const { connection, begun, ask } = stand();
  assert.equal(doingOf(connection), "nothing_known");
  const reading = { complete: false };
  ask(reading);
  assert.equal(doingOf(connection), "reading");
  reading.complete = true;
  assert.equal(doingOf(connection), "answering");
  ask({ complete: false });
  assert.equal(doingOf(connection), "answering");
  await begun[0]?.end(true);
  assert.equal(doingOf(connection), "reading");
  await begun[1]?.end(true);
  assert.equal(doingOf(connection), "idle");
});

test("where the newest request broke off, those before it are answered for what they were, and it for what was wrong", async () => {
  const { connection, begun, ask } = stand();
  ask();
  ask({ complete: false });
  endAfterAnswers(connection, denied);
  endAfterAnswers(connection, new Denied("body_too_large", "said later"));
  assert.deepEqual([begun[0]?.turn.broken, begun[0]?.turn.isLast()], [null, false]);
  await begun[0]?.end(true);
  assert.deepEqual([begun[1]?.turn.broken, begun[1]?.turn.isLast()], [denied, true]);
});

test("where what came after the newest whole one is no request, its reply is the last", async () => {
  const { connection, begun, ask } = stand();
  ask();
  ask();
  endAfterAnswers(connection, denied);
  assert.equal(begun[0]?.turn.isLast(), false);
  await begun[0]?.end(true);
  assert.deepEqual([begun[1]?.turn.broken, begun[1]?.turn.isLast()], [null, true]);
  const idle = stand();
  endAfterAnswers(idle.connection, denied);
  idle.ask();
  assert.equal(idle.begun[0]?.turn.isLast(), false);
});

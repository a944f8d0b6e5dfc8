import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import type { HubConnection } from "./connect.ts";
import { type HubWork, keepConnected } from "./keep-connected.ts";

const { hubAgainMs: first, hubAgainCapMs: cap } = defaults;

/** Connects and works as told, turn by turn, and notes every pause. */
async function play(turns: readonly ("away" | "refuses" | "works once")[]) {
  const pauses: number[] = [];
  let [turn, closed] = [0, 0];
  const failures: unknown[] = [];
  const connection = { onLost: () => undefined, close: async () => void closed++ } as unknown as HubConnection;
  const work: HubWork["work"] = async (_connection, works) => {
    if (turns[turn - 1] === "works once") works();
    throw new Error("it ended");
  };
  await keepConnected(
    {
      connect: async () => (turns[turn++] === "away" ? Promise.reject(new Error("away")) : connection),
      sleep: { sleep: async (ms) => void pauses.push(ms) },
    },
    { work, wake: () => undefined, failed: (error) => failures.push(error), isOver: () => turn === turns.length },
  );
  return { pauses, closed, failures: failures.length };
}

test("pauses between connections that fail double up to a cap, and begin anew after one that worked", async () => {
  const { pauses, closed, failures } = await play([
    ...(["away", "refuses", "away", "away", "away", "away", "refuses"] as const),
    ...(["works once", "away", "away"] as const),
  ]);
  const doubling = [0, 1, 2, 3, 4, 5, 6].map((times) => Math.min(first * 2 ** times, cap));
  assert.deepEqual(pauses, [...doubling, first, first * 2]);
  assert.deepEqual([closed, failures], [3, 10], "each that was made is closed, and each failure told");
});

test("whoever rests is woken when the connection is lost, and nothing is done any more once it is over", async () => {
  let [over, woken] = [false, 0];
  let lose = (): void => undefined;
  const connection = {
    onLost: (told: () => void) => {
      lose = told;
    },
    close: async () => undefined,
  } as unknown as HubConnection;
  const connect = async () => connection;
  const sleep = { sleep: async () => assert.fail("there is nothing to wait for") };
  await keepConnected(
    { connect, sleep },
    {
      async work(_connection, _works, requireLive) {
        requireLive();
        lose();
        assert.throws(requireLive, { code: "hub_unreachable" });
        over = true;
      },
      wake: () => void woken++,
      failed: assert.fail,
      isOver: () => over,
    },
  );
  await keepConnected(
    { connect: () => assert.fail("not again"), sleep },
    { work: () => assert.fail(), wake: assert.fail, failed: assert.fail, isOver: () => over },
  );
  assert.equal(woken, 1);
});
